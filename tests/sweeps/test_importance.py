"""Importance finds the field that decides, whatever kind of value it has."""

from __future__ import annotations

import pytest

from sweeps.importance import FEWEST, distributions, importance, is_scale, spans_magnitudes
from tests.sweeps import made_searches as made


def test_the_field_that_decides_comes_out_on_top_and_shares_sum_to_one(tmp_path):
    ledger = made.begin(tmp_path)
    made.trials(ledger, 60)
    shares = importance(ledger.state())
    assert list(shares) == ["dev/context/Answer@10", "dev/context/Document@1"]
    assert set(shares.index) == {"learning_rate", "weight", "top_n", "chunking_mix", "teacher_temperature"}
    assert shares.sum().tolist() == pytest.approx([1, 1])
    assert shares["dev/context/Answer@10"].idxmax() == "learning_rate"
    assert shares.loc["learning_rate"].min() > 3 * shares.loc["top_n"].max()
    assert importance(ledger.state()).equals(shares)


def test_too_few_trials_say_nothing(tmp_path):
    ledger = made.begin(tmp_path)
    made.trials(ledger, FEWEST - 1)
    assert importance(ledger.state()).empty


def test_distributions_follow_the_values():
    tried = [{"log": 10.0**-n, "flat": 0.1 + n, "whole": n, "choice": [n % 2], "flag": bool(n % 2), "fixed": 1} for n in range(12)]
    tried += [{"rare": n} for n in range(FEWEST - 1)]
    found = distributions(tried)
    assert set(found) == {"log", "flat", "whole", "choice", "flag"}
    shown = {name: type(one).__name__ for name, (one, _) in found.items()}
    assert shown == {"log": "FloatDistribution", "flat": "FloatDistribution", "whole": "IntDistribution",
                     "choice": "CategoricalDistribution", "flag": "CategoricalDistribution"}  # fmt: skip
    assert found["log"][0].log and not found["flat"][0].log
    assert found["choice"][1] == ["[0]", "[1]"]


def test_a_uniform_draw_that_comes_near_zero_is_not_logarithmic():
    assert not spans_magnitudes([0.001, 0.2, 0.4, 0.6, 0.8, 0.9])
    assert spans_magnitudes([1e-5, 3e-5, 1e-4, 3e-4, 1e-3])
    assert not is_scale([True, False, True]) and not is_scale([1, 2, 3]) and not is_scale([1.0] * 3 + [float("inf")] * 9)
