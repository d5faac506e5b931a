"""Where commands put what they make unless told otherwise."""

from __future__ import annotations

from pathlib import Path

from cluster.remote_sweep import folder_name


def runs_folder(name: str) -> Path:
    """runs/NAME."""
    return Path("runs") / folder_name(name)
