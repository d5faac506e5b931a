"""Proposals and real soups against plain enumeration."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from sweeps.config import Objective
from sweeps.soup.propose import Member, Merit, best_single, mean_figures, propose
from sweeps.soup.verify import best_of_each_trial, verify

OBJECTIVES = [Objective(metric="context/Answer@10"), Objective(metric="chunk-size/drop", direction="minimize")]
NAMES = ["dev/context/Answer@10", "dev/chunk-size/drop"]


def members(count: int, seed: int = 0, folders=None) -> list[Member]:
    rng = np.random.default_rng(seed)
    values = [(float(rng.random()), float(10 * rng.random())) for _ in range(count)]
    return [
        Member(i // 2, 20 * (i % 2 + 1), folders[i] if folders else Path(f"c{i}"), dict(zip(NAMES, value, strict=True)))
        for i, value in enumerate(values)
    ]


def synergy(positions: tuple[int, ...]) -> dict[str, float]:
    rng = np.random.default_rng(list(positions))
    return {NAMES[0]: float(rng.random()), NAMES[1]: float(10 * rng.random())}


def merit_of(found: list[Member]) -> Merit:
    return Merit(OBJECTIVES, [member.figures for member in found])


def test_merit_is_half_the_mean_and_half_the_worst_on_the_singles_scale():
    merit = Merit(OBJECTIVES, [{NAMES[0]: 0.2, NAMES[1]: 4.0}, {NAMES[0]: 0.6, NAMES[1]: 2.0}])
    assert merit({NAMES[0]: 0.6, NAMES[1]: 4.0}) == pytest.approx((0.5 + 0.0) / 2)
    assert merit({NAMES[0]: 0.6, NAMES[1]: 2.0}) == pytest.approx(1.0)
    assert merit({NAMES[0]: 0.8, NAMES[1]: 1.0}) == pytest.approx(1.5)


@pytest.mark.parametrize("per_trial", [1, 2])
def test_a_wide_beam_finds_what_enumeration_finds(monkeypatch, per_trial):
    monkeypatch.setattr("sweeps.soup.propose.BEAM", 1000)
    found = members(6)
    merit = merit_of(found)
    allowed = [
        positions
        for size in (2, 3)
        for positions in itertools.combinations(range(6), size)
        if all(sum(found[i].ordinal == trial for i in positions) <= per_trial for trial in range(3))
    ]
    expected = sorted(allowed, key=lambda positions: -merit(synergy(positions)))
    got = propose(found, synergy, merit, largest=3, per_trial=per_trial, count=100)
    assert [one.members for one in got] == expected
    assert propose(found, synergy, merit, largest=3, per_trial=per_trial, count=3) == got[:3]


def test_the_beam_bounds_how_often_the_proxy_is_asked(monkeypatch):
    monkeypatch.setattr("sweeps.soup.propose.BEAM", 2)
    asked = []

    def score(positions):
        asked.append(positions)
        return synergy(positions)

    found = members(20)
    propose(found, score, merit_of(found), largest=4, per_trial=1, count=3)
    assert len(asked) <= 20 + 3 * 2 * 19


def test_what_the_proxy_does_not_give_is_the_mean_of_the_members():
    found = members(4)
    got = propose(found, lambda positions: {NAMES[0]: 0.5}, merit_of(found), largest=2, per_trial=1, count=10)
    assert len(got) == 4
    for one in got:
        assert one.figures[NAMES[0]] == 0.5
        assert one.figures[NAMES[1]] == pytest.approx(np.mean([found[i].figures[NAMES[1]] for i in one.members]))
    assert set(mean_figures([*found, Member(9, 20, Path("x"), {NAMES[0]: 1.0})], (0, 4))) == {NAMES[0]}


def test_one_checkpoint_makes_no_soup():
    found = members(1)
    assert propose(found, synergy, merit_of(found), largest=3, per_trial=1, count=3) == []


@pytest.mark.parametrize("greedy", [False, True])
def test_real_soups_are_built_once_and_measured(make, tmp_path, greedy):
    make("base", 0)
    found = members(6, folders=[make(f"t{i}", i + 1) for i in range(6)])
    merit = merit_of(found)
    measured: list[Path] = []

    def evaluate(folder: Path) -> dict[str, float]:
        measured.append(folder)
        return {NAMES[0]: 0.9 if len(measured) == 1 else 0.1, NAMES[1]: 0.0}

    uniform = best_of_each_trial(found, merit)
    proposals = propose(found, lambda p: dict.fromkeys(NAMES, 1.0) | {NAMES[0]: float(p == uniform)}, merit, 3, 1, 2)
    assert proposals[0].members == uniform
    result = verify(found, proposals, merit, evaluate, tmp_path / "out", {}, greedy)
    assert len(measured) == len(set(measured)) == len(result.soups)
    assert result.soups[0].merit == max(soup.merit for soup in result.soups) and result.best == result.soups[0]
    both = next(soup for soup in result.soups if "uniform" in soup.kinds)
    assert "proposed" in both.kinds and len(both.ingredients) == 3
    assert any("greedy" in soup.kinds for soup in result.soups) == greedy
    own = found[best_single(found, merit)]
    assert result.single.folder == own.folder and result.single.figures == own.figures and result.single.is_single


def test_the_single_is_best_where_no_soup_is(make, tmp_path):
    make("base", 0)
    found = members(4, folders=[make(f"t{i}", i + 1) for i in range(4)])
    merit = merit_of(found)
    result = verify(found, [], merit, lambda folder: {NAMES[0]: 0.0, NAMES[1]: 99.0}, tmp_path / "out", {})
    assert result.best == result.single


def test_what_breaks_a_guardrail_is_neither_proposed_nor_best():
    found = members(6)
    everything = merit_of(found)
    open_ranking = propose(found, synergy, everything, largest=2, per_trial=1, count=100)
    limit = float(np.median([one.figures[NAMES[1]] for one in open_ranking]))
    merit = Merit(OBJECTIVES, [member.figures for member in found], lambda figures: ["drop"] if figures[NAMES[1]] > limit else [])
    got = propose(found, synergy, merit, largest=2, per_trial=1, count=100)
    assert got == [one for one in open_ranking if one.figures[NAMES[1]] <= limit] and 0 < len(got) < len(open_ranking)
    kept = [i for i in range(6) if found[i].figures[NAMES[1]] <= limit]
    assert best_single(found, merit) == max(kept, key=lambda i: everything(found[i].figures))
