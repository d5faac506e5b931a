"""Holm's adjustment for several tests, where a corpus proves its difficulty and where evaluations are compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment (Holm 1979): never falls along the ascending order, never above 1. In the order given."""
    p = np.asarray(p, float)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted.tolist()
