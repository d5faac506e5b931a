"""The folder that a sweep is given: empty, or with what sweeps leave there; anything else is somebody's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from corpora.errors import InputError, Problem
from corpora.storage import Storage
from sweeps.evaluated import is_sweep
from sweeps.preparation import CORPORA, MADE_BY

BEFORE = ("corpora", "store", "ledger", "sweep.json", "noise.json", "warm-start.json", "trials", "soup", "mlflow.db", "mlartifacts")
"""What may lie in a sweep's folder before its ledger's first event: the driver was killed, or `stockpot prepare` made it."""
BESIDE = (".yaml", ".yml", ".log", ".out", ".err")
"""Files that people and schedulers put there: the sweep's YAML, its output. Names with a dot in front are nobody's."""


def check_unused(folder: Path) -> None:
    """Refuses a folder without a sweep that holds something else, for a sweep would be mixed into it."""
    if is_sweep(folder) or not folder.is_dir():
        return
    foreign = sorted(path.name for path in folder.iterdir() if not _is_known(path))
    if foreign:
        more = f" and {len(foreign) - 5} more" if len(foreign) > 5 else ""
        raise InputError(Problem(str(folder), f"is no sweep's folder: it holds {', '.join(foreign[:5])}{more}; give another --out"))


def check_begun(folder: Path, storage: str | None, say: Callable[[str], None]) -> None:
    """Refuses to go on with a sweep that never began; says so where it had begun to prepare only."""
    if is_sweep(folder) or (storage and Storage(storage).names("ledger/events")):
        return
    if folder.is_dir() and any((folder / name).exists() for name in BEFORE):
        say("the sweep had not begun its first trial: it begins now, on what was prepared")
        return
    where = f"{folder}, and none in {storage}" if storage else str(folder)
    raise InputError(Problem("--resume", f"there is no sweep in {where}: leave --resume out to begin one, or name its folder by --out"))


def _is_known(path: Path) -> bool:
    if path.name == CORPORA:
        return (path / MADE_BY).is_file()
    return path.name.startswith((".", "mlflow.db")) or path.name in (*BEFORE, "lost+found") or (path.suffix in BESIDE and path.is_file())
