"""The noise of a dev split against a slow, obvious reference, and against worlds whose noise is known."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from statistics import fmean, variance

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from corpora.errors import InputError, StockpotError
from evaluators.results import COUNTS, PER_QUERY, TASKS, Results
from sweeps.config import Objective, SweepConfig
from sweeps.noise import FigureNoise, Noise, figure_noise, read_noise
from sweeps.noise_sweep import replicates_config


def results(values: dict[tuple[str, str], float], families: dict[tuple[str, str], str]) -> Results:
    """q2c/nDCG@10 by (task, query)."""
    rows = [("q2c", task, "sentence", 8, "float32", "nDCG@10", query, value) for (task, query), value in values.items()]
    queries = pd.DataFrame([(task, query, None, None, families[task, query]) for task, query in values],
                           columns=["task", "query", "ability", "domain", "family"])  # fmt: skip
    tasks = pd.DataFrame([(task, None, "0", "dev", 1, 1) for task in dict.fromkeys(task for task, _ in values)], columns=TASKS)
    return Results("e", pd.DataFrame(rows, columns=PER_QUERY), queries, tasks, pd.DataFrame(columns=COUNTS))


def world(rng: np.random.Generator, replicates: int = 3, families: int = 12, each: int = 4, seed_sd: float = 0.02, own_sd: float = 0.1):
    names = {("task", f"q{i}"): f"f{i // each}" for i in range(families * each)}
    shared = rng.normal(0.5, 0.3, families * each)
    return [
        results(dict(zip(names, shared + rng.normal(0, seed_sd) + rng.normal(0, own_sd, families * each), strict=True)), names)
        for _ in range(replicates)
    ], names


def test_it_is_the_formula_worked_out_slowly():
    found, names = world(np.random.default_rng(1))
    (one,) = figure_noise(found, np.random.default_rng(2)).values()
    values = [[each.figure("q2c/nDCG@10")[key] for key in names] for each in found]
    seeds = variance([fmean(each) for each in values])
    members: dict[str, list[int]] = {}
    for place, family in enumerate(names.values()):
        members.setdefault(family, []).append(place)
    rng, spread = np.random.default_rng(3), []
    for a, b in combinations(range(3), 2):
        means = []
        for _ in range(4000):
            drawn = [place for family in rng.choice(list(members), len(members)) for place in members[family]]
            means.append(fmean(values[b][place] - values[a][place] for place in drawn))
        spread.append(variance(means))
    queries = fmean(spread)
    whole = 2 * seeds + queries
    freedom = whole**2 / ((2 * seeds) ** 2 / 2 + queries**2 / 11)
    assert one.seed_sd == pytest.approx(math.sqrt(seeds)) and one.families == 12
    assert one.query_sd == pytest.approx(math.sqrt(queries), rel=0.05)
    assert one.gain == pytest.approx(t.ppf(0.975, freedom) * math.sqrt(whole), rel=0.05)


def test_a_gain_that_no_two_trials_differ_by_is_said_to_tell_nothing():
    one = FigureNoise(0.5, 0.1, 0.1, 12, 1.319)
    told = list(Noise("n", {}, 20, 2, "d", "sentence", {"context/Document@1": one, "context/Answer@10": replace(one, gain=0.2)}).lines())
    assert [line.strip() for line in told[1:]] == [
        "context/Answer@10: 20.0 points",
        "context/Document@1: 131.9 points, more than the figure can differ by: nothing can be told, take more replicates",
    ]


def test_chance_seldom_passes_and_a_gain_well_above_always_does():
    """120 pairs of further replicates: about 5% or fewer differ by more than the gain that three others state."""
    passed = []
    for seed in range(30):
        found, _ = world(np.random.default_rng(seed), replicates=11, families=20, each=2, seed_sd=0.02, own_sd=0.1)
        (one,) = figure_noise(found[:3], np.random.default_rng(0), resamples=200).values()
        means = [each.figures()["q2c/nDCG@10"] for each in found[3:]]
        passed += [abs(b - a) > one.gain for a, b in zip(means[::2], means[1::2], strict=True)]
        assert one.gain < 0.5
    assert np.mean(passed) < 0.1


def test_queries_of_one_family_count_once():
    """Copies of every query within its family change nothing."""
    found, names = world(np.random.default_rng(4), each=1)
    copies = {(task, f"{query}-{k}"): family for (task, query), family in names.items() for k in range(5)}
    many = [results({(task, query): one.figure("q2c/nDCG@10")[task, query.split("-")[0]] for task, query in copies}, copies)
            for one in found]  # fmt: skip
    few, more = (figure_noise(each, np.random.default_rng(0))["q2c/nDCG@10"] for each in (found, many))
    assert more.gain == pytest.approx(few.gain, rel=1e-9)


def test_tasks_weigh_alike_whatever_their_size():
    rng = np.random.default_rng(5)
    names = {("a", f"q{i}"): f"a{i}" for i in range(10)} | {("b", f"q{i}"): f"b{i}" for i in range(1000)}
    found = [results({key: rng.normal(0.5, 0.1) for key in names}, names) for _ in range(3)]
    (one,) = figure_noise(found, np.random.default_rng(0)).values()
    # the difference of two means over 10 and 1000 queries, halved: sqrt(2 * 0.01 * (1/10 + 1/1000)) / 2
    assert one.query_sd == pytest.approx(math.sqrt(0.02 * (1 / 10 + 1 / 1000)) / 2, rel=0.35)
    assert one.mean == pytest.approx(fmean(each.figures()["q2c/nDCG@10"] for each in found))


def test_equal_replicates_have_no_noise_and_one_family_says_nothing():
    found, names = world(np.random.default_rng(6))
    (one,) = figure_noise([found[0]] * 3, np.random.default_rng(0)).values()
    assert (one.seed_sd, one.query_sd, one.gain) == (0, 0, 0)
    alone = [results({key: each.figure("q2c/nDCG@10")[key] for key in names}, dict.fromkeys(names, "f")) for each in found]
    with pytest.raises(StockpotError, match="single family"):
        figure_noise(alone, np.random.default_rng(0))


def made(**changes: object) -> Noise:
    figures = {"context/Answer@10": FigureNoise(0.5, 0.01, 0.02, 12, 0.063), "chunk-size/drop": FigureNoise(4, 1, 1, 12, 2.5)}
    return Noise(**{"name": "n", "setting": {"weight": 0.5}, "step": 4, "replicates": 3, "data": "d" * 64,
                    "chunking": "sentence", "figures": figures} | changes)  # fmt: skip


def test_it_is_read_as_written_from_its_folder_or_its_file(tmp_path):
    path = made().write(tmp_path)
    assert read_noise(tmp_path) == read_noise(path) == made()
    assert list(made().lines([Objective(metric="context/Answer@10")]))[1:] == [
        "  context/Answer@10: 6.3 points", "  chunk-size/drop: 2.5 points",
    ]  # fmt: skip
    for content in ("{", "[]", '{"format": 2}', '{"format": 1}'):
        path.write_text(content)
        with pytest.raises(InputError, match="holds no noise"):
            read_noise(path)
    with pytest.raises(InputError, match="holds no noise"):
        read_noise(tmp_path / "absent")


def test_noise_of_another_split_or_chunking_is_refused():
    made().check({"dev": "d" * 64}, "sentence")
    with pytest.raises(InputError, match="another dev split"):
        made().check({"dev": "e" * 64}, "sentence")
    with pytest.raises(InputError, match="evaluation.chunking sentence, the sweep has tokens:128"):
        made().check({"dev": "d" * 64}, "tokens:128")


def test_the_replicates_are_one_setting_under_several_seeds():
    config = SweepConfig.model_validate({
        "name": "s", "corpora": {"generate": "quick"}, "recipe": {"weight": {"uniform": [0.6, 0.8]}, "seed": 5},
        "search": {"sampler": "tpe", "trials": 30, "objectives": [{"metric": "q2c/nDCG@10"}]},
        "scheduler": {"kind": "asha"}, "budget": {"hours": 1},
    })  # fmt: skip
    asked = replicates_config(config, 4)
    assert (asked.space.size, asked.search.replicates, asked.scheduler.kind, asked.budget.hours) == (1, 4, "none", None)
    assert asked.recipe["weight"] == pytest.approx(0.7) and asked.recipe["seed"] == 5
    assert asked.search.objectives == config.search.objectives and asked.evaluation == config.evaluation
    with pytest.raises(InputError, match="at least 2"):
        replicates_config(config, 1)
