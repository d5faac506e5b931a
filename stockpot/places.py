"""Where commands put what they make unless told otherwise."""

from __future__ import annotations

from pathlib import Path


def runs_folder(name: str) -> Path:
    """runs/NAME, with what no file system minds."""
    return Path("runs") / "".join(each if each.isalnum() or each in "-_." else "-" for each in name)
