"""What a trial took of its machine, as metrics under `system/`, which MLflow shows in a tab of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sweeps.ledger_state import Trial


class Point(NamedTuple):
    key: str
    value: float
    time: float  # seconds since 1970
    step: int


def system_points(trial: Trial) -> Iterator[Point]:
    """`system/train_seconds` and its like for each report, what trainables/usage.py measured, and evaluation times."""
    for step, report in sorted(trial.reports.items()):
        for part, seconds in report.seconds.items():
            yield Point(f"system/{part}_seconds", seconds, report.time, step)
        for what, value in report.system.items():
            yield Point(f"system/{what}", value, report.time, step)
    for step, checkpoint in sorted(trial.checkpoints.items()):
        for split, scores in sorted(checkpoint.scores.items()):
            if scores.seconds is not None:
                yield Point(f"system/evaluation_{split}_seconds", scores.seconds, scores.time, step)
