"""The test split of a sweep: it opens by one explicit wish, and the ledger keeps each opening (DESIGN section 4)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from corpora.errors import InputError, Problem
from corpora.splits import FILE
from sweeps.evaluated import is_sweep
from sweeps.leased import leased
from sweeps.ledger import Ledger

TEST = "test"
_HOW = "evaluate it as `stockpot evaluate CHECKPOINT --sweep SWEEP_DIR --open-test`, which the sweep's ledger records"


def open_test(folder: Path, by: str, clock: Callable[[], float]) -> list[Path]:
    """The folders of the sweep's test split, once the opening is on record: `by` says what is evaluated on it."""
    folder = Path(folder).absolute()
    places = split_folders(folder, TEST)
    with leased(folder, clock):
        Ledger.open(folder, write=True).append("opening", {"split": TEST, "by": by}, clock())
    return places


def split_folders(folder: Path, split: str) -> list[Path]:
    """Where a split of the sweep in `folder` lies, one corpus or more."""
    splits = Ledger.open(folder).state().sweep["places"]["splits"]
    if split not in splits:
        raise InputError(Problem(str(folder), f"the sweep has no {split} split; it has {', '.join(splits)}"))
    return [Path(folder) / place for place in splits[split]]


def refuse_test(corpus: Path) -> None:
    """Refuses a folder that is the frozen test split of a sweep, or of a corpus that was cut."""
    corpus = Path(corpus).resolve()
    if _is_cut_test(corpus) or any(corpus in _tests_of(parent) for parent in corpus.parents if is_sweep(parent)):
        raise InputError(Problem(str(corpus), f"is a test split, frozen until the end: {_HOW}"))


def _is_cut_test(corpus: Path) -> bool:
    """Whether a splits.json beside the folder calls it the test split."""
    try:
        return corpus.name == TEST and TEST in json.loads((corpus.parent / FILE).read_text(encoding="utf-8"))["splits"]
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _tests_of(sweep: Path) -> list[Path]:
    splits = Ledger.open(sweep).state().sweep["places"]["splits"]
    return [(sweep / place).resolve() for place in splits.get(TEST, ())]
