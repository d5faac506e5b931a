"""The front against its definition, word by word."""

from __future__ import annotations

import numpy as np
import pytest

from sweeps.pareto import front, not_dominated


def slowly(values, directions):
    signs = [1 if direction == "maximize" else -1 for direction in directions]
    rows = [[sign * value for sign, value in zip(signs, row)] for row in values]

    def dominates(one, other):
        return all(a >= b for a, b in zip(one, other)) and any(a > b for a, b in zip(one, other))

    return [place for place, row in enumerate(rows) if not any(dominates(other, row) for other in rows)]


@pytest.mark.parametrize("objectives", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_the_front_is_what_none_dominates(objectives, seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 6, (40, objectives)).astype(float)  # many ties
    directions = ["minimize" if rng.integers(2) else "maximize" for _ in range(objectives)]
    assert front(values, directions) == slowly(values, directions)


def test_points_keep_their_steps_and_nothing_has_no_front():
    points = [(20, (1.0, 2.0)), (40, (2.0, 1.0)), (60, (0.5, 0.5)), (80, (1.0, 2.0))]
    assert not_dominated(points, ["maximize", "maximize"]) == [points[0], points[1], points[3]]
    assert front([], ["maximize"]) == []
