"""What no other beats in every objective."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def front(values: Sequence[Sequence[float]], directions: Sequence[str]) -> list[int]:
    """Places of the rows of `values` [n, objectives] that none dominates, ascending; equal rows stay together.

    A row is dominated by one that is at least as good everywhere and better somewhere.
    `directions`: `maximize` or `minimize`, one an objective.
    """
    if not len(values):
        return []
    losses = np.asarray(values, float) * [-1 if direction == "maximize" else 1 for direction in directions]
    unique, place = np.unique(losses, axis=0, return_inverse=True)  # ascending: no row dominates an earlier one
    kept = np.empty((0, unique.shape[1]))
    best = np.zeros(len(unique), bool)
    for number, row in enumerate(unique):
        best[number] = not (kept <= row).all(axis=1).any()
        if best[number]:
            kept = np.vstack([kept, row])
    return np.flatnonzero(best[place.reshape(-1)]).tolist()


def not_dominated(
    points: Sequence[tuple[int, tuple[float, ...]]], directions: Sequence[str]
) -> list[tuple[int, tuple[float, ...]]]:
    """The (step, objectives) among `points` that are on their front."""
    return [points[place] for place in front([values for _, values in points], directions)]
