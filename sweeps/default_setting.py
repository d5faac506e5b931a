"""The one setting that stands for a whole space: what `stockpot noise` repeats and `plan --probe` times."""

from __future__ import annotations

import math
from typing import Any

from sweeps.space import Entry, Real, Space, Suggestion, default_of


def default_setting(space: Space) -> Suggestion:
    """Each searched field at the recipe's own default where its entry holds it, else at the entry's middle."""
    return space.suggest(lambda name, entry: _middle(entry, default_of(name, space.model)))


def _middle(entry: Entry, default: Any) -> Any:
    try:
        return entry.own(default)
    except LookupError:
        pass
    if isinstance(entry, Real):
        return math.sqrt(entry.low * entry.high) if entry.log else (entry.low + entry.high) / 2
    return entry.values[(len(entry.values) - 1) // 2]
