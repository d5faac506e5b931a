"""Certification on results made up query by query."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

from evaluators.results import AXES, COUNTS, PER_QUERY, TASKS, Results
from sweeps.config import Objective
from sweeps.soup import certify as module
from sweeps.soup.certify import ALPHA, certify, level, looks_taken, recorded, verdict_key

OBJECTIVES = [Objective(metric="context/Answer@10"), Objective(metric="context/Document@1")]
FIGURES = [("context", "Answer@10"), ("context", "Document@1"), ("q2c", "nDCG@10")]


def results(values: dict[tuple[str, str], np.ndarray], families: int, sha: str = "c") -> Results:
    """Three queries a family; one value per query and figure."""
    rows = [
        (suite, "confirm", "sentence", 8, "float32", metric, f"q{number}", value)
        for (suite, metric), column in values.items()
        for number, value in enumerate(column)
    ]
    queries = [("confirm", f"q{number}", None, None, f"f{number // 3}") for number in range(3 * families)]
    frame = pd.DataFrame(rows, columns=[*AXES, "query", "value"])[PER_QUERY]
    tasks = pd.DataFrame([("confirm", None, sha, None, 1, len(queries))], columns=TASKS)
    named = pd.DataFrame(queries, columns=["task", "query", "ability", "domain", "family"])
    return Results("m", frame, named, tasks, pd.DataFrame([], columns=COUNTS))


def a_pair(gains: dict[str, float], families: int = 40, noise: float = 0.1):
    rng = np.random.default_rng(0)
    single = {figure: rng.random(3 * families) for figure in FIGURES}
    soup = {
        figure: values + gains.get(figure[1], 0.0) + noise * rng.standard_normal(len(values))
        for figure, values in single.items()
    }
    return results(single, families), results(soup, families)


def judge(pair, looks: int = 0, objectives=OBJECTIVES):
    return certify(*pair, objectives, "k", looks, np.random.default_rng(1))


def test_a_clear_gain_ships_the_soup():
    verdict = judge(a_pair({"Answer@10": 0.1, "Document@1": 0.05}))
    assert verdict.ships_soup and verdict.look == 1 and verdict.families == 40
    assert verdict.gain == pytest.approx(0.075, abs=0.02)
    assert 0 < verdict.low < verdict.gain < verdict.high
    assert {guard.figure for guard in verdict.guards} == {"context/Answer@10", "context/Document@1", "q2c/nDCG@10"}


def test_no_gain_a_loss_and_a_noisy_gain_ship_the_best_single():
    for gains, noise in [({}, 0.1), ({"Answer@10": -0.1}, 0.1), ({"Answer@10": 0.02}, 1.0)]:
        verdict = judge(a_pair(gains, noise=noise))
        assert not verdict.ships_soup and "best single ships" in verdict.reason


def test_a_suite_that_is_significantly_worse_forbids_the_soup():
    verdict = judge(a_pair({"Answer@10": 0.1, "Document@1": 0.1, "nDCG@10": -0.1}))
    assert verdict.low > 0 and not verdict.ships_soup
    assert "significantly worse at q2c/nDCG@10" in verdict.reason


def test_an_objective_to_minimize_gains_by_falling():
    falls = [Objective(metric="context/Answer@10", direction="minimize")]
    assert not judge(a_pair({"Answer@10": 0.1}), objectives=falls).ships_soup
    verdict = judge(a_pair({"Answer@10": -0.1}), objectives=falls)
    assert verdict.gain > 0 and "significantly worse" in verdict.reason  # a headline that falls is harm all the same


def test_under_twenty_families_nothing_is_looked_at():
    verdict = judge(a_pair({"Answer@10": 0.5}, families=19))
    assert not verdict.ships_soup and verdict.look == 0 and "19 families" in verdict.reason
    assert judge(a_pair({"Answer@10": 0.5}, families=20)).ships_soup


def test_the_interval_is_that_of_whole_families():
    """Against a plain loop over resampled families."""
    single, soup = a_pair({"Answer@10": 0.05, "Document@1": 0.05}, families=25)
    verdict = judge((single, soup))
    gains = np.column_stack([(soup.figure(o.metric) - single.figure(o.metric)).to_numpy() for o in OBJECTIVES])
    by_family = gains.reshape(25, 3, 2)
    rng = np.random.default_rng(5)
    means = [by_family[rng.integers(25, size=25)].mean(axis=(0, 1)).mean() for _ in range(10_000)]
    alpha = level(1)
    expected = np.quantile(means, [alpha / 2, 1 - alpha / 2])
    assert verdict.gain == pytest.approx(gains.mean())
    assert np.allclose([verdict.low, verdict.high], expected, atol=0.003)


def test_every_look_is_dearer_and_all_together_cost_alpha():
    assert sum(level(look) for look in range(1, 10_000)) == pytest.approx(ALPHA, rel=1e-3)
    pair = a_pair({"Answer@10": 0.02, "Document@1": 0.02}, noise=0.12)
    early, late = judge(pair), judge(pair, looks=500)
    assert early.low > 0 > late.low and early.ships_soup and not late.ships_soup


def test_a_gain_of_nothing_is_rarely_certified(monkeypatch):
    monkeypatch.setattr(module, "resampled_means", partial(module.resampled_means, resamples=500))
    shipped = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        single = {figure: rng.random(90) for figure in FIGURES}
        soup = {figure: values + 0.2 * rng.standard_normal(90) for figure, values in single.items()}
        shipped += certify(results(single, 30), results(soup, 30), OBJECTIVES, "k", 0, rng).ships_soup
    assert shipped <= 1  # expected: 12 x 1.5%


def test_the_recorded_verdict_comes_back(tmp_path):
    from sweeps.ledger import Ledger

    ledger = Ledger.create(tmp_path, {"sweep_id": "s", "name": "n", "config": {}, "attributes": {}}, 0.0)
    key = verdict_key("a", "b", "c")
    assert recorded(ledger.state().soup, key) is None and looks_taken(ledger.state().soup) == 0
    verdict = certify(*a_pair({"Answer@10": 0.1}), OBJECTIVES, key, 0, np.random.default_rng(1))
    ledger.append("soup", verdict.payload(), 1.0)
    state = Ledger.open(tmp_path).state()
    assert recorded(state.soup, key) == verdict
    assert looks_taken(state.soup) == 1
    few = certify(*a_pair({}, families=3), OBJECTIVES, "few", 1, np.random.default_rng(1))
    ledger.append("soup", few.payload(), 2.0)
    assert looks_taken(ledger.state().soup) == 1
    assert verdict_key("a", "b", "d") != key != verdict_key("b", "a", "c")
    assert module.FAMILIES == 20
