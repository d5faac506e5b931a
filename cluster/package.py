"""What travels to the cluster: stockpot's own sources and the sweep, in one zip whose bytes depend on nothing else."""

from __future__ import annotations

import zipfile
from pathlib import Path

PACKAGES = ("corpora", "evaluators", "trainables", "sweeps", "cluster", "stockpot")
SWEEP = "sweep.yaml"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can hold


def sources() -> dict[str, Path]:
    """The files of stockpot's packages by their name in the zip: data, runs, tests and .git lie outside them."""
    root = Path(__file__).parent.parent
    return {
        path.relative_to(root).as_posix(): path
        for package in PACKAGES
        for path in sorted((root / package).rglob("*"))
        if path.is_file() and not any(part == "__pycache__" or part.startswith(".") for part in path.relative_to(root).parts)
    }


def write_package(path: Path, sweep: str) -> int:
    """Writes the zip with the sweep's YAML at its root; returns its bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for name, source in sources().items():
            _put(package, name, source.read_bytes())
        _put(package, SWEEP, sweep.encode())
    return path.stat().st_size


def _put(package: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.external_attr = 0o644 << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    package.writestr(entry, content)
