"""What MLflow takes in one request and one value, and how what is longer goes there whole."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

METRICS, PARAMS = 1000, 100  # MLflow's limits of one request
LONGEST_PARAM, LONGEST_TAG = 6000, 8000  # characters: MLflow cuts longer ones silently
LONGEST_NAME = 250


def fitted(text: str, limit: int, where: str) -> str:
    """`text`, or its hash and where it stands whole: MLflow would cut it without a word."""
    if len(text) <= limit:
        return text
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()} ({len(text)} characters, whole in {where})"


def title(text: str) -> str:
    """A name of a run: on one line, its end shown as cut where it is too long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_NAME else line[: LONGEST_NAME - 1] + "…"


def batches(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
