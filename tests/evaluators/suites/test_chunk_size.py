from __future__ import annotations

import numpy as np
import pytest

from evaluators.suites.chunk_size import curve


def test_drop_in_points_and_slope_per_doubling():
    rows = np.array([0, 2])
    found = curve({f"tokens:{size}": (rows, np.array([0.9 - 0.1 * place, 0.5]))
                   for place, size in enumerate((64, 128, 256, 512))})
    assert found["drop"][1] == pytest.approx([30, 0])
    assert found["slope"][1] == pytest.approx([-0.1, 0])
    assert found["drop"][0].tolist() == [0, 2]


def test_the_slope_is_least_squares():
    sizes, values = (100, 128, 1000), np.array([0.3, 0.9, 0.4])
    found = curve({f"tokens:{size}": (np.array([0]), values[[place]]) for place, size in enumerate(sizes)})
    assert found["slope"][1][0] == pytest.approx(np.polyfit(np.log2(sizes), values, 1)[0])


def test_one_size_has_no_drop():
    assert curve({"tokens:64": (np.array([0]), np.array([1.0]))}) == {}
    assert curve({"given": (np.array([0]), np.array([1.0]))}) == {}
