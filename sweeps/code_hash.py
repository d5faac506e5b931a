"""Which code made a number: one hash over the sources that a trial's result can depend on."""

from __future__ import annotations

import hashlib
from pathlib import Path

ROOMS = ("corpora", "evaluators", "trainables", "sweeps")


def code_hash(trainer: str | None = None) -> str:
    """SHA-256 over the paths and bytes of the project's own modules and the file of a user's trainer; installed
    libraries are recorded apart."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    if trainer:
        from trainables.trainers import source_of

        digest.update(b"trainer\0" + source_of(trainer).read_bytes())
    return digest.hexdigest()
