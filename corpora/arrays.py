"""Folders of flat arrays: written in bounded memory, checksummed, opened by memory map."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from corpora.errors import Problem, StockpotError
from corpora.files import sha256_of

MANIFEST = "manifest.json"


class GrowingArray:
    """A .npy file that grows along its first axis: the parts pass through, the whole is never in memory."""

    def __init__(self, path: Path):
        self._file = open(path, "wb+")
        self._header: dict | None = None

    def append(self, part: np.ndarray) -> None:
        part = np.ascontiguousarray(part)
        if self._header is None:
            self._header = npy.header_data_from_array_1_0(part[:0])
            npy.write_array_header_1_0(self._file, self._header)
        rows, *width = self._header["shape"]
        self._header["shape"] = (rows + len(part), *width)
        part.tofile(self._file)

    def close(self) -> None:
        # numpy leaves room in the header for a longer first axis, so that it can be written over.
        if self._header is not None:
            self._file.seek(0)
            npy.write_array_header_1_0(self._file, self._header)
        self._file.close()


def write_arrays(folder: Path, parts: Iterator[Mapping[str, np.ndarray]]) -> None:
    """Concatenates the parts' arrays, name by name."""
    growing: dict[str, GrowingArray] = {}
    for part in parts:
        for name, array in part.items():
            if name not in growing:
                growing[name] = GrowingArray(folder / f"{name}.npy")
            growing[name].append(array)
    for array in growing.values():
        array.close()


def seal(folder: Path, facts: Mapping[str, object]) -> None:
    """Writes the manifest: the facts, and size and SHA-256 of every file."""
    files = {file.name: {"bytes": file.stat().st_size, "sha256": sha256_of(file)} for file in sorted(folder.iterdir())}
    (folder / MANIFEST).write_text(json.dumps({**facts, "files": files}, indent=1, ensure_ascii=False))


def open_arrays(folder: Path) -> tuple[dict[str, np.ndarray], dict]:
    """Arrays by name, memory-mapped, and the manifest; a file of another size than recorded is an error."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        cut = [name for name, file in manifest["files"].items() if (folder / name).stat().st_size != file["bytes"]]
    except (OSError, ValueError, KeyError) as error:
        raise StockpotError(f"{folder}: is no prepared folder: {error}") from None
    if cut:
        raise StockpotError(f"{folder}: {', '.join(cut)} changed size since it was written: delete the folder")
    return {
        name.removesuffix(".npy"): _mapped(folder / name) for name in manifest["files"] if name.endswith(".npy")
    }, manifest


def verify(folder: Path) -> list[Problem]:
    """Files whose content is not what was written."""
    files = json.loads((folder / MANIFEST).read_text())["files"]
    return [
        Problem(str(folder / name), "differs from its checksum: delete the folder and prepare again")
        for name, file in files.items()
        if not (folder / name).is_file() or sha256_of(folder / name) != file["sha256"]
    ]


def _mapped(path: Path) -> np.ndarray:
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    return array if array.size else np.array(array)
