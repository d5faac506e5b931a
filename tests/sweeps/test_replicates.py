"""Settings under several seeds: told apart where they differ, tied where noise explains it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sweeps import replicates
from sweeps.replicates import BEST, TIED, UNKNOWN, WORSE, compared, replicated, setting_id, welch
from tests.sweeps import made_searches as made


@pytest.fixture
def sweep(tmp_path):
    ledger = made.begin(tmp_path)
    made.trials(ledger, 4)  # every one a setting of its own: not compared
    made.replicates(ledger, tmp_path, {"worse": 0.40, "tied": 0.497, "good": 0.5})
    return ledger.state(), tmp_path


def test_the_best_leads_near_ones_are_ties_and_far_ones_are_worse(sweep):
    table = compared(*sweep)
    assert dict(zip(table.setting, table.verdict)) == {"note=good": BEST, "note=tied": TIED, "note=worse": WORSE}
    assert table.setting[0] == "note=good" and table.replicates.tolist() == [3, 3, 3]
    assert table.trials[0] == "10 11 12"
    assert (table.low[1:] < table.difference[1:]).all() and (table.difference[1:] < table.high[1:]).all()
    assert table.low[1] < 0 < table.high[1] and table.high[2] < 0
    assert compared(*sweep).equals(table)


def test_means_and_spreads_are_those_of_the_seeds(sweep):
    state, _ = sweep
    first = replicated(state)[0]
    values = [state.trials[ordinal].checkpoints[20].scores["dev"].figures["dev/context/Answer@10"] for ordinal in (10, 11, 12)]
    assert first.values == tuple(values)
    assert first.mean == pytest.approx(np.mean(values))
    assert first.noise == pytest.approx(np.var(values, ddof=1) / 3)


def test_welch_is_scipys_where_both_sides_are_samples():
    one, other = np.array([0.3, 0.5, 0.45, 0.38]), np.array([0.6, 0.52, 0.66])
    parts = [(each.var(ddof=1) / len(each), len(each) - 1) for each in (one, other)]
    low, high, p = welch(parts, other.mean() - one.mean())
    expected = stats.ttest_ind(other, one, equal_var=False)
    assert p == pytest.approx(expected.pvalue)
    assert (low, high) == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert welch([(0.0, 1), (0.0, 2)], 0.0) == (0.0, 0.0, 1.0)
    assert welch([(0.0, 1), (0.0, 2)], 0.1) == (0.1, 0.1, 0.0)


def test_queries_are_part_of_the_noise(sweep, monkeypatch):
    """The interval is wider than what the seeds alone explain."""
    state, folder = sweep
    table = compared(state, folder)
    settings = replicated(state)
    seeds = [(each.noise, len(each.values) - 1) for each in settings[:2]]
    low, high, _ = welch([*seeds, (1e-12, 39)], table.difference[1])
    assert table.high[1] - table.low[1] != pytest.approx(high - low)
    monkeypatch.setattr(replicates, "resampled_means", lambda values, families, rng, resamples: np.array([[0.3], [-0.3]]))
    assert compared(state, folder).verdict.tolist() == [BEST, TIED, TIED]


def test_without_the_queries_no_verdict_is_given(sweep):
    state, folder = sweep
    for file in (folder / "ledger" / "scores").glob("*.parquet"):
        file.unlink()
    table = compared(state, folder)
    assert table.verdict.tolist() == [BEST, UNKNOWN, UNKNOWN]
    assert table.p.isna().all() and not table.difference[1:].isna().any()


def test_trials_are_one_setting_when_only_the_seed_differs():
    assert setting_id({"weight": 0.5, "seed": 1}) == setting_id({"seed": 2, "weight": 0.5})
    assert setting_id({"weight": 0.5, "seed": 1}) != setting_id({"weight": 0.25, "seed": 1})


def test_one_scored_trial_a_setting_is_nothing_to_compare(tmp_path):
    ledger = made.begin(tmp_path)
    made.trials(ledger, 5)
    assert compared(ledger.state(), tmp_path).empty


def test_p_is_adjusted_over_the_settings(tmp_path):
    ledger = made.begin(tmp_path)
    made.replicates(ledger, tmp_path, {name: 0.5 - 0.02 * place for place, name in enumerate("abcd")})
    state = ledger.state()
    table, settings = compared(state, tmp_path), replicated(state)
    raw = []
    for each in settings[1:]:
        queries = [replicates._queries(one, tmp_path, "context/Answer@10") for one in (settings[0], each)]
        raw.append(replicates._test(settings[0], each, *queries)[3])
    assert min(table.p[1:]) == pytest.approx(min(1, 3 * min(raw)))
    assert all(adjusted >= p for adjusted, p in zip(table.p[1:], raw)) and not math.isnan(raw[0])
