from __future__ import annotations

import json
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.significance import paired_interval, resampled_means, sign_p, sign_test


def test_worked_values(golden):
    worked = json.loads((golden / "statistics.json").read_text())
    for wins, losses, p in worked["sign_test"]:
        assert sign_p(wins, losses) == pytest.approx(p, abs=1e-12)


def test_four_against_one():
    found = sign_test(np.array([1, 0.5, 0.1, 1, -1, 0, 0]))
    assert (found.wins, found.losses, found.p) == (4, 1, 0.375)


@given(st.integers(0, 30), st.integers(0, 30))
def test_sign_test_by_counting(wins, losses):
    n, least = wins + losses, min(wins, losses)
    tail = sum(comb(n, each) for each in range(least + 1)) / 2**n
    assert sign_p(wins, losses) == pytest.approx(min(1, 2 * tail) if n else 1)


def test_the_bootstrap_resamples_families():
    """Two families of equal queries: each mean is one of those that 0, 1 or 2 draws of a family give."""
    values = np.array([[1.0, 5.0]] * 3 + [[0.0, np.nan]])
    means = resampled_means(values, ["a", "a", "a", "b"], np.random.default_rng(0), 500)
    assert set(np.unique(means[:, 0])) == {0.0, 0.75, 1.0}
    assert np.isnan(means[means[:, 0] == 0, 1]).all()
    assert (means[means[:, 0] > 0, 1] == 5).all()


def test_intervals_are_seeded_and_wider_for_fewer_families():
    rng = np.random.default_rng(1)
    effect = np.repeat(rng.normal(0.1, 0.3, 20), 10)
    families = np.repeat([f"f{each}" for each in range(20)], 10)
    by_family = paired_interval(effect, families.tolist(), np.random.default_rng(7), 2000)
    again = paired_interval(effect, families.tolist(), np.random.default_rng(7), 2000)
    by_query = paired_interval(effect, [str(each) for each in range(200)], np.random.default_rng(7), 2000)
    assert by_family == again
    assert by_family.high - by_family.low > 2 * (by_query.high - by_query.low)
    assert by_family.low < by_family.mean < by_family.high
