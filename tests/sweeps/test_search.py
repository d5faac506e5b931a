"""Every sampler passes these: what a proposal depends on, and what the search is told."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import optuna
import pytest

from sweeps.config import SweepConfig
from sweeps.ledger_state import Checkpoint, Report, Scores, Trial
from sweeps.search import Searcher
from sweeps.settings import settings_of
from sweeps.space_reading import read_space

SAMPLERS = {
    "random": ("random", 1), "tpe": ("tpe", 1), "motpe": ("tpe", 2), "nsga2": ("nsga2", 2), "grid": ("grid", 1),
}  # fmt: skip
FINITE = {
    "weight": {"grid": [0.0, 0.25, 0.5, 1.0]},
    "chunking_mix": {"choice": [{"sentence": 1}, {"sentence": 1, "tokens:64": 1}]},
    "objective": {"choice": ["distil", "gold"]},
    "top_n": {"when": {"objective": "distil"}, "then": {"randint": [1, 3]}, "else": 1},
}
OPEN = FINITE | {
    "weight": {"uniform": [0, 1]},
    "learning_rate": {"loguniform": [1e-5, 1e-3]},
    "teacher_temperature": {"when": {"objective": "distil"}, "then": {"loguniform": [0.02, 1]}},
}
BOTH = ["context/Answer@10", "context/Document@1"]


def a_config(sampler: str, space: dict, trials: int | None = 60, seed: int = 0, **search_changes) -> SweepConfig:
    name, objectives = SAMPLERS[sampler]
    search = {"sampler": name, "trials": trials, "seed": seed, "startup": 6}
    return SweepConfig.model_validate(
        {
            "name": "t",
            "corpora": {"generate": "quick"},
            "recipe": space,
            "search": search | {"objectives": [{"metric": metric} for metric in BOTH[:objectives]]} | search_changes,
        }
    )


def space_of(sampler: str) -> dict:
    return FINITE if sampler == "grid" else OPEN


def values_of(varied: dict) -> tuple[float, float]:
    """Best where the weight is near 0.7, with a trade against the second objective."""
    return 1 - abs(varied["weight"] - 0.7), 1 - varied["weight"] ** 2


def a_trial(ordinal: int, suggestion, status: str = "finished", values=None) -> Trial:
    figures = dict(zip(BOTH, values or values_of(suggestion.varied), strict=True))
    scores = Scores("dev", {f"dev/{name}": value for name, value in figures.items()}, None, 0.0, None)
    checkpoint = Checkpoint("f", "s", 0.0, (scores,))
    trial = Trial(ordinal, f"t{ordinal}", suggestion.recipe.model_dump(mode="json"), suggestion.varied, 0.0, status)
    trial.reports = {20: Report({"inline/Answer@10": figures[BOTH[0]]}, 0.0, {})}
    trial.checkpoints = {20: checkpoint}
    return trial


def run(searcher: Searcher, count: int, slots: int = 2, start: list[Trial] | None = None) -> list[Trial]:
    """A sweep in deterministic order: proposal k sees trials up to k - slots; every fifth is stopped, every seventh fails."""
    trials = list(start or [])
    for ordinal in range(len(trials), count):
        seen, pending = trials[: max(0, ordinal - slots + 1)], trials[max(0, ordinal - slots + 1) :]
        status = "stopped" if ordinal % 5 == 4 else "failed" if ordinal % 7 == 6 else "finished"
        trials.append(a_trial(ordinal, searcher.ask(ordinal, seen, pending), status))
    return trials


def varied(trials: list[Trial]) -> list[str]:
    return [json.dumps(trial.varied, sort_keys=True) for trial in trials]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_rebuilt_from_the_ledger_it_proposes_what_it_would_have_proposed(sampler):
    config = a_config(sampler, space_of(sampler), 20)
    whole = run(Searcher(config), 20)
    for cut in (0, 1, 7, 13):
        assert varied(run(Searcher(config), 20, start=whole[:cut])) == varied(whole)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_proposal_depends_on_nothing_but_what_it_is_shown(sampler):
    config = a_config(sampler, space_of(sampler), 32)
    trials = run(Searcher(config), 15)
    fresh, used = Searcher(config), Searcher(config)
    for ordinal in (3, 9, 13):
        used.ask(ordinal, trials[:ordinal])
    state = np.random.get_state()[1].copy()
    expected = fresh.ask(15, trials[:13], trials[13:])
    shuffled = [trials[i] for i in np.random.default_rng(1).permutation(13)]
    assert used.ask(15, shuffled, trials[13:]) == expected
    assert (np.random.get_state()[1] == state).all()


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_outcome_of_pending_trials_is_not_seen(sampler):
    searcher = Searcher(a_config(sampler, space_of(sampler), 32))
    trials = run(searcher, 15)
    for trial in trials[13:]:
        expected = searcher.ask(15, trials[:13], trials[13:])
        trial.status, trial.checkpoints = "running", {}
        assert searcher.ask(15, trials[:13], trials[13:]) == expected


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_every_proposal_lies_in_the_space(sampler):
    space = read_space(space_of(sampler))
    for trial in run(Searcher(a_config(sampler, space_of(sampler), 30)), 30):
        assert 0 <= trial.params["weight"] <= 1 and 1 <= trial.params["top_n"] <= 3
        gold = trial.params["objective"] == "gold"
        assert ("top_n" in trial.varied) is not gold
        assert set(space.recall(trial.varied)) == set(trial.varied)
        for name, value in trial.varied.items():
            assert json.loads(json.dumps(value)) == value, name


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_finite_space_is_walked_without_repeats_and_ends(sampler):
    searcher = Searcher(a_config(sampler, FINITE, 500))
    points = 4 * 2 * (3 + 1)
    assert searcher.trials == points
    trials = run(searcher, points)
    assert len(set(varied(trials))) == points
    labels = [searcher.ask(trial.ordinal, trials[: trial.ordinal]).label for trial in trials[:3]]
    assert all("w=" in label and "mix=" in label for label in labels)


@pytest.mark.parametrize("sampler", sorted(set(SAMPLERS) - {"grid"}))
def test_seeds_differ(sampler):
    one, two = (run(Searcher(a_config(sampler, OPEN, seed=seed)), 4) for seed in (0, 1))
    assert not set(varied(one)) & set(varied(two))


def test_the_grid_is_the_product_in_the_order_of_the_file():
    space = {"weight": {"grid": [0.0, 0.5]}, "top_n": {"grid": [1, 2, 3]}}
    trials = run(Searcher(a_config("grid", space, None)), 6)
    expected = [{"weight": w, "top_n": n} for w, n in itertools.product([0.0, 0.5], [1, 2, 3])]
    assert [trial.varied for trial in trials] == expected


@pytest.mark.parametrize(("sampler", "gain"), [("tpe", 0.08), ("motpe", 0.0), ("nsga2", 0.0)])
def test_learning_beats_chance(sampler, gain):
    """Mean of the (first) objective over the last proposals, against random over the same seeds."""
    space = {"weight": {"uniform": [0, 1]}, "learning_rate": {"loguniform": [1e-5, 1e-3]}}

    def late(name: str) -> float:
        scores = []
        for seed in range(3):
            searcher, trials = Searcher(a_config(name, space, seed=seed)), []
            for ordinal in range(40):
                suggestion = searcher.ask(ordinal, trials)
                peak = 1 - abs(suggestion.varied["weight"] - 0.7)  # both objectives agree here
                trials.append(a_trial(ordinal, suggestion, values=(peak, peak)))
            scores += [trial.checkpoints[20].scores["dev"].figures[f"dev/{BOTH[0]}"] for trial in trials[25:]]
        return sum(scores) / len(scores)

    assert late(sampler) > late("random") + gain


def told(searcher: Searcher, *trials: Trial, pending=()) -> optuna.trial.FrozenTrial:
    """What Optuna is told of the last setting."""
    unsettled = [trial for trial in trials if not searcher.is_settled(trial)]
    settled = [trial for trial in trials if trial not in unsettled]
    return searcher._frozen(settings_of(settled, [*pending, *unsettled], searcher._search.replicates)[-1], {})


@pytest.mark.parametrize("objectives", [1, 2])
def test_what_optuna_is_told(objectives):
    searcher = Searcher(a_config("tpe" if objectives == 1 else "motpe", OPEN))
    suggestion = searcher.ask(0, [])
    states = {}
    for status in ("finished", "stopped", "failed"):
        frozen = told(searcher, a_trial(0, suggestion, status))
        states[status] = frozen.state.name
        assert frozen.user_attrs["steps"] == 20
        if status == "stopped":
            expected = {20: values_of(suggestion.varied)[0]} if objectives == 1 else {}
            assert frozen.intermediate_values == expected
    assert states == {"finished": "COMPLETE", "stopped": "PRUNED", "failed": "FAIL"}
    infinite = a_trial(0, suggestion, values=(math.nan, math.inf))
    assert told(searcher, infinite).state.name == "FAIL"
    assert told(searcher, pending=[a_trial(0, suggestion)]).state.name == "RUNNING"
    unscored = a_trial(0, suggestion)
    unscored.checkpoints[20] = Checkpoint("f", "s", 0.0)
    assert told(searcher, unscored).state.name == "RUNNING"
    assert not searcher.is_settled(unscored) and searcher.is_settled(infinite)


def test_guardrails_are_told_as_constraints():
    limits = [{"metric": BOTH[1], "at_least": 0.5}, {"metric": BOTH[0], "not_below": "untrained", "by": 0.1}]
    searcher = Searcher(a_config("motpe", OPEN, constraints=limits))
    setting = settings_of([a_trial(0, searcher.ask(0, []), values=(0.6, 0.25))], [], 1)[0]
    untrained = {f"dev/{BOTH[0]}": 0.8}
    frozen = searcher._frozen(setting, untrained)
    assert list(frozen.constraints.values()) == pytest.approx([0.25, 0.1])
    assert frozen.state.name == "COMPLETE"
    assert searcher._frozen(setting, {}).state.name == "FAIL", "what cannot be checked is not learnt from"


@pytest.mark.parametrize("sampler", ["tpe", "motpe", "nsga2"])
def test_a_search_under_a_guardrail_proposes_what_keeps_it(sampler):
    """The first objective rises with the weight, the guardrail bears none over 0.4."""
    space = OPEN | {"document_temperature": {"loguniform": [0.01, 1]}}

    def late(constraints: list) -> float:
        kept = []
        for seed in range(2):
            searcher, trials = Searcher(a_config(sampler, space, seed=seed, constraints=constraints)), []
            for ordinal in range(48):
                suggestion = searcher.ask(ordinal, trials)
                weight = suggestion.varied["weight"]
                trials.append(a_trial(ordinal, suggestion, values=(weight, 1 - weight)))
            kept += [trial.varied["weight"] <= 0.4 for trial in trials[30:]]
        return float(np.mean(kept))

    assert late([{"metric": BOTH[1], "at_least": 0.6}]) > late([]) + 0.2


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_replicates_repeat_a_setting_under_other_seeds(sampler):
    config = a_config(sampler, FINITE, 8, replicates=3)
    searcher = Searcher(config)
    assert searcher.trials == 24
    trials = run(searcher, 24)
    for first in range(0, 24, 3):
        group = trials[first : first + 3]
        assert [trial.params["seed"] for trial in group] == [trial.varied["seed"] for trial in group] == [0, 1, 2]
        assert len({json.dumps({**trial.params, "seed": 0}, sort_keys=True) for trial in group}) == 1
    settings = {json.dumps({**trial.params, "seed": 0}, sort_keys=True) for trial in trials}
    assert len(settings) == 8
    for cut in (1, 7, 13):
        assert varied(run(Searcher(config), 24, start=trials[:cut])) == varied(trials)


def test_the_search_is_told_the_mean_of_replicates():
    searcher = Searcher(a_config("motpe", OPEN, replicates=2))
    suggestion = searcher.ask(0, [])
    one, two = (a_trial(ordinal, suggestion, values=values) for ordinal, values in enumerate([(0.2, 0.6), (0.4, 0.8)]))
    assert told(searcher, one, two).values == pytest.approx([0.3, 0.7])
    assert told(searcher, one).state.name == told(searcher, one, pending=[two]).state.name == "RUNNING"
    for status, state in (("stopped", "PRUNED"), ("failed", "FAIL")):
        two.status = status
        assert told(searcher, one, two).state.name == state


@pytest.mark.parametrize("sampler", ["tpe", "motpe", "nsga2"])
def test_the_kept_study_equals_one_built_anew_for_every_proposal(sampler):
    """With trials that end late and out of order, as in asynchronous order."""
    config = a_config(sampler, OPEN, 60)
    kept, trials = Searcher(config), []
    rng = np.random.default_rng(5)
    running: set[int] = set()
    for ordinal in range(40):
        visible = [trial for trial in trials if trial.ordinal not in running]
        pending = [trial for trial in trials if trial.ordinal in running]
        suggestion = kept.ask(ordinal, visible, pending)
        assert suggestion == Searcher(config).ask(ordinal, visible, pending), ordinal
        trials.append(a_trial(ordinal, suggestion, "stopped" if ordinal % 5 == 4 else "finished"))
        running = {one for one in (*running, ordinal) if rng.random() < 0.6}


def test_optuna_says_nothing(capfd):
    run(Searcher(a_config("nsga2", OPEN)), 8)
    run(Searcher(a_config("motpe", OPEN)), 8)
    assert capfd.readouterr() == ("", "")
    assert optuna.logging.get_verbosity() == optuna.logging.ERROR
