"""Population based training on a simulated clock: who takes over what from whom, what is written down, what is refused."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from corpora.errors import InputError, StockpotError
from sweeps.comparison import comparable
from sweeps.conductor import Conductor, Next
from sweeps.config import SweepConfig, load
from sweeps.ledger import Ledger
from sweeps.ledger_state import Checkpoint, Exploited, Report, Trial
from sweeps.population import Exploit, Mutation, Pbt
from sweeps.search import Searcher
from sweeps.settings import settings_of
from sweeps.snapshot import Follower
from sweeps.space_reading import read_space

METRIC = "inline/Answer@10"
STEPS, EVERY = 60, 10
SPACE = {"weight": {"uniform": [0, 1]}, "learning_rate": {"loguniform": [1e-5, 1e-2]}, "top_n": {"randint": [1, 8]},
         "chunking_mix": {"choice": [{"sentence": 1.0}, {"paragraph": 1.0}]}, "dimensions": {"choice": [[384], [128]]},
         "steps": STEPS, "checkpoint_every": EVERY}  # fmt: skip
CHANGING = ("weight", "learning_rate", "top_n", "chunking_mix")


def config(slots: int = 4, trials: int = 16, **changes) -> SweepConfig:
    content = {
        "name": "simulated", "corpora": {"generate": "quick"}, "recipe": SPACE, "resources": {"slots": slots},
        "search": {"sampler": "random", "trials": trials, "seed": 1},
        "scheduler": {"kind": "pbt", "perturb_every": 20, "mutate": list(CHANGING)},
    }  # fmt: skip
    return SweepConfig.model_validate({**content, **changes})


def rule(**changes) -> Pbt:
    mutation = Mutation(read_space(SPACE), CHANGING, 0.25, 1.2)
    return Pbt(**{"metric": METRIC, "perturb_every": 20, "quantile": 0.25, "mutation": mutation, "seed": 1} | changes)


def population(values: list[float | None], step: int = 20) -> dict[int, Trial]:
    space, trials = read_space(SPACE), {}
    for ordinal, value in enumerate(values):
        drawn = space.sample(np.random.default_rng(ordinal))
        trials[ordinal] = Trial(ordinal, str(ordinal), drawn.recipe.model_dump(mode="json"), drawn.varied, 0.0, "running")
        if value is not None:
            trials[ordinal].reports[step] = Report({METRIC: value}, 0.0, {})
            trials[ordinal].checkpoints[step] = Checkpoint(f"trials/{ordinal}/step-{step}", f"sha-{ordinal}", 0.0)
    return trials


def test_the_worst_quarter_goes_on_from_one_of_the_best_quarter():
    trials = population([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    decisions = [rule().decide(trials, ordinal, 20) for ordinal in range(8)]
    assert decisions[2:] == ["continue"] * 6
    assert {decision.donor for decision in decisions[:2]} <= {6, 7}
    donors = Counter(rule(seed=seed).decide(trials, 0, 20).donor for seed in range(200))
    assert set(donors) == {6, 7} and min(donors.values()) > 70


def test_a_trial_keeps_its_fixed_fields_and_chance_follows_from_seed_ordinal_and_step():
    trials = population([0.1, 0.5, 0.6, 0.7])
    found = rule().decide(trials, 0, 20)
    recipe, donor = found.suggestion.recipe.model_dump(mode="json"), trials[found.donor].params
    changed = {name for name, value in recipe.items() if value != trials[0].params[name]}
    assert changed and changed <= set(CHANGING) and recipe["dimensions"] == trials[0].params["dimensions"] != donor["dimensions"]
    assert found.suggestion.varied == {name: recipe[name] for name in trials[0].varied}
    assert rule().decide(trials, 0, 20) == found != rule(seed=2).decide(trials, 0, 20)
    elsewhere = {ordinal: trials[ordinal] for ordinal in (3, 2, 1, 0)}  # in whatever order they are held
    assert rule().decide(elsewhere, 0, 20) == found


def test_only_at_multiples_and_before_the_end_and_never_to_an_equal():
    trials = population([0.1, 0.9])
    for trial in trials.values():
        trial.reports |= {step: trial.reports[20] for step in (10, 60)}
    assert rule().decide(trials, 0, 10) == rule().decide(trials, 0, 60) == "continue"
    assert isinstance(rule().decide(trials, 0, 20), Exploit)
    equal = population([0.5] * 8)
    assert {rule().decide(equal, ordinal, 20) for ordinal in range(8)} == {"continue"}
    assert rule().decide(population([0.1]), 0, 20) == "continue"
    assert rule().decide(population([0.1, None, None, None]), 0, 20) == "continue", "nobody else has come as far"
    assert [isinstance(rule(quantile=0.5).decide(population([0.1, 0.2, 0.3]), o, 20), Exploit) for o in range(3)] == [True, False, False]


def test_what_is_gone_failed_or_not_finite_is_nobodys_donor():
    trials = population([0.1, 0.9, 0.8, 0.7])
    assert rule().decide(trials, 0, 20).donor == 1
    trials[1].checkpoints[20].removed = "gc"
    assert rule().decide(trials, 0, 20) == "continue", "the best quarter is trial 1 alone"
    trials[1].status = "failed"
    assert rule().decide(trials, 0, 20).donor == 2
    trials[2].reports[20] = Report({METRIC: math.nan}, 0.0, {})
    assert rule().decide(trials, 2, 20) == "stop" and rule().decide(trials, 0, 20).donor == 3


def test_a_donor_gives_the_values_that_led_to_its_checkpoint():
    """Not those that it took over itself at that very step."""
    trials = population([0.1, 0.9])
    led = dict(trials[1].varied)
    trials[1].exploits[20] = Exploited({}, {}, led | {"top_n": 100}, 0.0)
    assert rule().decide(trials, 0, 20).suggestion.recipe.top_n <= 8
    trials[1].exploits[10] = Exploited({}, {}, led | {"weight": 0.5, "top_n": 4}, 0.0)
    exact = Mutation(read_space(SPACE), ("weight", "top_n"), 0.0, 1.2)
    assert rule(mutation=exact).decide(trials, 0, 20).suggestion.recipe.weight in (0.5 * 1.2, 0.5 / 1.2)


def test_values_are_perturbed_by_the_factor_within_bounds_or_drawn_anew():
    space = read_space(SPACE)
    donor = space.sample(np.random.default_rng(0)).varied | {"weight": 0.4, "learning_rate": 9e-3, "top_n": 1}
    own = space.sample(np.random.default_rng(1)).varied

    def seen(probability: float) -> list[dict]:
        mutation = Mutation(space, CHANGING, probability, 1.2)
        return [mutation.suggest(own, donor, np.random.default_rng(seed)).varied for seed in range(400)]

    perturbed = seen(0.0)
    assert {one["weight"] for one in perturbed} == {0.4 * 1.2, 0.4 / 1.2}
    assert {one["learning_rate"] for one in perturbed} == {1e-2, 9e-3 / 1.2}
    assert {one["top_n"] for one in perturbed} == {1, 2}, "a whole number moves by 1 at least, within its bounds"
    assert all(one["chunking_mix"] == donor["chunking_mix"] and one["dimensions"] == own["dimensions"] for one in perturbed)
    drawn = seen(1.0)
    assert {one["top_n"] for one in drawn} == set(range(1, 9)) and len({one["weight"] for one in drawn}) == 400
    assert len({str(one["chunking_mix"]) for one in drawn}) == 2
    share = np.mean([one["weight"] not in (0.4 * 1.2, 0.4 / 1.2) for one in seen(0.25)])
    assert 0.18 < share < 0.32


def test_conditions_are_kept_where_a_field_changes():
    space = read_space({"chunking_mix": {"choice": [{"sentence": 1.0}, {"paragraph": 1.0}]},
                        "weight": {"when": {"chunking_mix": [{"sentence": 1.0}]}, "then": {"uniform": [0, 0.5]}, "else": 0.75}})  # fmt: skip
    mutation = Mutation(space, ("chunking_mix", "weight"), 0.5, 1.2)
    own, donor = {"chunking_mix": {"paragraph": 1.0}}, {"chunking_mix": {"paragraph": 1.0}}
    found = [mutation.suggest(own, donor, np.random.default_rng(seed)) for seed in range(50)]
    assert {one.recipe.weight <= 0.5 for one in found} == {True, False}
    assert all((one.recipe.weight <= 0.5) == (one.recipe.chunking_mix == {"sentence": 1.0}) == ("weight" in one.varied) for one in found)


def test_a_replicate_keeps_its_seed():
    own = read_space(SPACE).sample(np.random.default_rng(0)).varied | {"seed": 7}
    found = Mutation(read_space(SPACE), CHANGING, 0.25, 1.2).suggest(own, own, np.random.default_rng(0))
    assert found.recipe.seed == found.varied["seed"] == 7


def gain(varied) -> float:
    """Of a step, by the values in force: best at weight 0.6 and a learning rate of 1e-3."""
    return 1 - abs(varied["weight"] - 0.6) - 0.3 * abs(math.log10(varied["learning_rate"]) + 3)


@pytest.mark.parametrize("slots", [8, 64])
def test_thousands_of_trials_end_and_the_population_gets_better(slots):
    """Against the same trials left alone. The scheduler is made anew for every hundredth decision."""
    count, rng = 1500, np.random.default_rng(slots)
    space, trials, quality, lineage = read_space(SPACE), {}, {}, Counter()
    scheduler, events = rule(), []

    def start(now: float) -> None:
        ordinal = len(trials)
        drawn = space.sample(np.random.default_rng(ordinal))
        trials[ordinal] = Trial(ordinal, str(ordinal), drawn.recipe.model_dump(mode="json"), drawn.varied, now, "running")
        heapq.heappush(events, (now + rng.exponential(), ordinal))

    for _ in range(slots):
        start(0.0)
    while events:
        now, ordinal = heapq.heappop(events)
        trial = trials[ordinal]
        step = max(trial.reports, default=0) + EVERY
        since = step - EVERY
        base = quality[trial.exploits[since].donor["ordinal"], since] if since in trial.exploits else quality.get((ordinal, since), 0.0)
        quality[ordinal, step] = base + gain(trial.varied_at(step))
        trial.reports[step] = Report({METRIC: quality[ordinal, step]}, now, {})
        trial.checkpoints[step] = Checkpoint("", "", now)
        scheduler = rule() if sum(lineage.values()) % 100 == 0 else scheduler
        decision = scheduler.decide(trials, ordinal, step)
        lineage[type(decision).__name__] += 1
        if isinstance(decision, Exploit):
            donor, suggestion = decision.donor, decision.suggestion
            assert step % 20 == 0 and step < STEPS and quality[donor, step] > quality[ordinal, step]
            trial.exploits[step] = Exploited({"ordinal": donor}, suggestion.recipe.model_dump(mode="json"), suggestion.varied, now)
        if step < STEPS:
            heapq.heappush(events, (now + rng.exponential(), ordinal))
        else:
            trial.status = "finished"
            if len(trials) < count:
                start(now)
    assert len(trials) == count and {trial.status for trial in trials.values()} == {"finished"}
    assert 0.15 < lineage["Exploit"] / (2 * count) < 0.3  # a quarter of two decisions a trial
    alone = [STEPS / EVERY * gain(trial.varied) for trial in trials.values()]
    reached = [quality[ordinal, STEPS] for ordinal in trials]
    assert np.mean(reached) > np.mean(alone) + 0.5
    assert np.percentile(reached, 10) > np.percentile(alone, 10) + 1


class Simulation:
    """A sweep with a real ledger, whose trials' reports follow from their lineage alone."""

    def __init__(self, settings: SweepConfig, folder: Path, seed: int = 0):
        self.now, self.rng, self.settings, self.folder = 0.0, np.random.default_rng(seed), settings, folder
        attributes = {"config": settings.sha256, "code": "c", "data": {}}
        sweep = {"sweep_id": "s", "name": "simulated", "config": settings.model_dump(mode="json"), "attributes": attributes}
        self.ledger = Ledger.create(folder, sweep, 0.0)
        self.begin()

    def begin(self) -> None:
        """A driver: the first, or one after a kill. Trials that it finds begin anew and replay their reports."""
        self.told: list[tuple[int, tuple[int, ...]]] = []
        self.conductor = Conductor(self.settings, self.ledger, lambda: self.now, instruct=self._instruct)
        self.events: list[tuple[float, int, int, int]] = []
        self.count = itertools.count()

    def _instruct(self, trial: Trial) -> None:
        assert Ledger.open(self.folder).state().trials[trial.ordinal].exploits == trial.exploits, "written down first"
        self.told.append((trial.ordinal, tuple(trial.exploits)))

    def run(self, turns: int = 10_000) -> None:
        for _ in range(turns):
            while not isinstance(trial := self.conductor.next_trial(), Next):
                self._push(trial.ordinal, EVERY)
            if not self.events:
                return
            self.now, _, ordinal, step = heapq.heappop(self.events)
            self._report(ordinal, step)

    def _push(self, ordinal: int, step: int) -> None:
        heapq.heappush(self.events, (self.now + self.rng.exponential(), next(self.count), ordinal, step))

    def quality(self, ordinal: int, step: int) -> float:
        if step == 0:
            return 0.0
        trial, before = self.conductor.trials[ordinal], step - EVERY
        source = trial.exploits[before].donor["ordinal"] if before in trial.exploits else ordinal
        return round(self.quality(source, before) + gain(trial.varied_at(step)), 9)

    def _report(self, ordinal: int, step: int) -> None:
        value = self.quality(ordinal, step)
        self.conductor.reported([
            ("report", {"ordinal": ordinal, "step": step, "metrics": {METRIC: value}, "seconds": {}}),
            ("checkpoint", {"ordinal": ordinal, "step": step, "folder": f"{ordinal}/{step}", "sha256": f"{value}"}),
        ])  # fmt: skip
        assert self.conductor.decide(ordinal, step) == "continue"
        if step < STEPS:
            self._push(ordinal, step + EVERY)
        else:
            self.conductor.ended(ordinal, "finished")


def test_each_takeover_is_in_the_ledger_before_the_trial_is_told(tmp_path):
    simulation = Simulation(config(), tmp_path)
    simulation.run()
    trials = Ledger.open(tmp_path).state().trials
    taken = [(trial, step, one) for trial in trials.values() for step, one in trial.exploits.items()]
    assert len(trials) == 16 and 4 < len(taken) < 16 and len(simulation.told) == len(taken)
    for trial, step, one in taken:
        donor = trials[one.donor["ordinal"]]
        assert one.donor == {"ordinal": donor.ordinal, "step": step, "sha256": donor.checkpoints[step].sha256}
        assert donor.reports[step].metrics[METRIC] > trial.reports[step].metrics[METRIC]
        assert one.params == trial.params | {name: one.params[name] for name in CHANGING}
        assert trial.params_at(step + EVERY) == one.params and trial.params_at(min(trial.exploits)) == trial.params
    shown = Follower(tmp_path).standing().trials
    for trial in trials.values():
        assert shown[trial.ordinal].varied == trial.varied_at(math.inf)
        assert [shown[trial.ordinal].varied_at(step) for step in trial.reports] == [trial.varied_at(step) for step in trial.reports]


@pytest.mark.parametrize("turns", [9, 25, 40, 60])
def test_a_driver_killed_anywhere_takes_nothing_over_twice(tmp_path, turns):
    simulation = Simulation(config(), tmp_path)
    simulation.run(turns)
    before = comparable(simulation.ledger.state())["trials"]
    under_way = {ordinal for ordinal, trial in simulation.conductor.trials.items() if not trial.has_ended and trial.exploits}
    simulation.begin()
    simulation.run()
    after = comparable(simulation.ledger.state())["trials"]
    for ordinal, held in before.items():
        again = after[ordinal]["exploits"]
        assert {step: again[step] for step in held["exploits"]} == held["exploits"]
        assert all(step >= max(held["reports"], default=0) for step in set(again) - set(held["exploits"]))
    assert under_way <= {ordinal for ordinal, _ in simulation.told}, "what the driver before had decided is told again"
    assert {one["status"] for one in after.values()} == {"finished"} and len(after) == 16


def test_the_ledger_refuses_what_contradicts_it(tmp_path):
    simulation = Simulation(config(), tmp_path)
    simulation.run()
    trial = next(trial for trial in simulation.conductor.trials.values() if trial.exploits)
    step, one = next(iter(trial.exploits.items()))
    event = {"ordinal": trial.ordinal, "step": step, "donor": one.donor, "params": one.params, "varied": one.varied}
    assert not simulation.ledger.append("exploited", event, 0.0)
    with pytest.raises(StockpotError, match=f"what trial {trial.ordinal} takes over at step {step}: the ledger holds"):
        simulation.ledger.append("exploited", event | {"donor": one.donor | {"sha256": "x"}}, 0.0)
    with pytest.raises(StockpotError, match="a change at step 30 of trial 0, which is finished already"):
        simulation.ledger.append("exploited", event | {"ordinal": 0, "step": 30}, 0.0)


@pytest.mark.parametrize("sampler", ["tpe", "nsga2"])
def test_the_search_learns_of_a_setting_that_was_left_as_pruned(tmp_path, sampler):
    """What the trial scores afterwards is not the proposed setting's merit."""
    settings = config(trials=12, search={"sampler": sampler, "trials": 12, "startup": 4, "objectives": [{"metric": "context/Answer@10"}]})
    simulation = Simulation(settings, tmp_path)
    simulation.conductor.unscored = set(range(12))
    simulation.run()
    trials = list(simulation.conductor.trials.values())
    searcher = Searcher(settings)
    left = [setting for setting in settings_of(trials, [], 1) if setting.trials[0].exploits]
    assert left
    for setting in left:
        (trial,) = setting.trials
        first = min(trial.exploits)
        assert searcher.is_settled(trial) and setting.outcome(settings.search.objectives) == "stopped" and setting.steps() == first
        assert list(setting.intermediate(METRIC)) == list(range(EVERY, first + 1, EVERY))


RECIPE = {"weight": {"uniform": [0, 1]}, "learning_rate": 1e-3, "steps": 60, "checkpoint_every": 20}
PBT = {"kind": "pbt", "perturb_every": 20}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"order": "deterministic"}, "order: deterministic does not go with scheduler.kind pbt"),
        ({"scheduler": {"kind": "pbt"}}, "pbt needs `perturb_every`"),
        ({"scheduler": PBT | {"kind": "asha"}}, "perturb_every: for kind pbt alone, found kind asha"),
        ({"scheduler": PBT | {"kind": "none", "mutate": ["weight"]}}, "perturb_every and mutate: for kind pbt alone, found kind none"),
        ({"scheduler": PBT | {"perturb_every": 30}}, "scheduler.perturb_every: 30 is no multiple of recipe.checkpoint_every 20"),
        ({"scheduler": PBT | {"quantile": 0.6}}, "scheduler.quantile"),
        ({"scheduler": PBT | {"factor": 1.0}}, "scheduler.factor"),
        ({"scheduler": PBT | {"mutate": ["steps"]}}, "scheduler.mutate.0: steps cannot change in mid-trial; allowed: weight, document_temperature"),
        ({"scheduler": PBT | {"mutate": ["weight", "dimensions"]}}, "scheduler.mutate.1: dimensions cannot change in mid-trial"),
        ({"scheduler": PBT | {"mutate": ["wieght"]}}, "wieght is no field of the recipe; did you mean 'weight'?"),
        ({"scheduler": PBT | {"mutate": ["learning_rate"]}}, "recipe.learning_rate is fixed: new values are drawn from"),
        ({"scheduler": PBT | {"mutate": ["weight", "weight"]}}, "mutate names a field twice"),
        ({"recipe": RECIPE | {"weight": 0.5, "dimensions": {"choice": [[384], [128]]}}}, "recipe searches nothing that can change in mid-trial"),
        ({"recipe": RECIPE | {"top_n": {"when": {"weight": 0.5}, "then": {"randint": [1, 4]}}}, "scheduler": PBT | {"mutate": ["weight"]}},
         "recipe.top_n depends on weight: name top_n, too, or leave weight out"),
        ({"recipe": RECIPE | {"dimensions": {"when": {"weight": 0.5}, "then": [128], "else": [64]}}}, "recipe.dimensions depends on weight: leave weight out"),
        ({"trainer": str(Path(__file__).parents[2] / "examples" / "own_trainer.py") + ":MarginTrainer", "recipe": {"margin": {"uniform": [0.1, 0.4]}},
          "scheduler": PBT | {"mutate": ["margin"]}}, "margin cannot change in mid-trial; allowed: none: its trainer's Recipe names them as CHANGEABLE"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused_by_its_key(tmp_path, changes, told):
    import yaml

    content = {"name": "s", "corpora": {"generate": "quick"}, "recipe": RECIPE, "search": {"sampler": "random", "trials": 8}, "scheduler": PBT}
    path = tmp_path / "sweep.yaml"
    path.write_text(yaml.safe_dump(content))
    assert load(path).scheduler.kind == "pbt"
    path.write_text(yaml.safe_dump(content | changes))
    with pytest.raises(InputError) as refused:
        load(path)
    assert told in str(refused.value)
