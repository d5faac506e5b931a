"""Finds, compares and ships the best contextual embedding model.

For scripts and notebooks: `stockpot.open(SWEEP_DIR)` gives a sweep as pandas DataFrames (docs/api.md).
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stockpot.api import Sweep


def open(folder: str | PathLike[str]) -> Sweep:
    """The sweep in `folder`, finished or still running; nothing heavy is imported before this is called."""
    from stockpot.api import Sweep

    return Sweep(folder)
