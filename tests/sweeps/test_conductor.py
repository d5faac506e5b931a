"""The conductor on a simulated clock: thousands of decisions without Ray, whatever the timing."""

from __future__ import annotations

import heapq
import itertools
from pathlib import Path

import numpy as np
import pytest

from sweeps.comparison import comparable
from sweeps.conductor import Conductor, Next, gpu_hours
from sweeps.config import SweepConfig
from sweeps.ledger import Ledger


def config(order: str, trials: int = 24, slots: int = 3, **changes) -> SweepConfig:
    content = {
        "name": "simulated",
        "corpora": {"generate": "quick"},
        "recipe": {"weight": {"uniform": [0, 1]}, "steps": 27, "checkpoint_every": 3},
        "search": {"sampler": "random", "trials": trials, "seed": 1},
        "scheduler": {"kind": "asha", "grace": 3, "reduction": 3},
        "resources": {"slots": slots},
        "order": order,
    }
    return SweepConfig.model_validate({**content, **changes})


class Simulation:
    """Trials whose steps take random times; what a trial reports depends on its recipe and step alone."""

    def __init__(self, settings: SweepConfig, folder: Path, seed: int):
        self.now, self.rng = 0.0, np.random.default_rng(seed)
        attributes = {"config": settings.sha256, "code": "c", "data": {}}
        sweep = {"sweep_id": f"s{seed}", "name": "simulated", "config": settings.model_dump(mode="json"), "attributes": attributes}
        self.ledger = Ledger.create(folder, sweep, 0.0)
        self.settings, self.most = settings, 0
        self.begin()

    def begin(self) -> None:
        self.conductor = Conductor(self.settings, self.ledger, lambda: self.now)
        self.events: list[tuple[float, int, int, int]] = []
        self.waiting: dict[int, int] = {}
        self.count = itertools.count()

    def schedule(self, ordinal: int, step: int) -> None:
        heapq.heappush(self.events, (self.now + self.rng.exponential(), next(self.count), ordinal, step))

    def run(self, turns: int = 100_000) -> None:
        for _ in range(turns):
            while not isinstance(trial := self.conductor.next_trial(), Next):
                self.schedule(trial.ordinal, 3)
            running = len({event[2] for event in self.events} | set(self.waiting))
            self.most = max(self.most, running)
            for ordinal, step in list(self.waiting.items()):
                self.settle(ordinal, step)
            if not self.events:
                assert not self.waiting, "trials wait for each other"
                assert trial is Next.DONE
                return
            self.now, _, ordinal, step = heapq.heappop(self.events)
            self.report(ordinal, step)

    def report(self, ordinal: int, step: int) -> None:
        weight = self.conductor.trials[ordinal].params["weight"]
        value = 1 - abs(weight - 0.6) + 0.01 * step
        metrics = {"inline/Answer@10": value, "inline/Document@1": 1 - weight}
        seconds = {"train": 90.0, "inline": 10.0}
        self.conductor.reported([("report", {"ordinal": ordinal, "step": step, "metrics": metrics, "seconds": seconds})])
        self.settle(ordinal, step)

    def settle(self, ordinal: int, step: int) -> None:
        decision = self.conductor.decide(ordinal, step)
        self.waiting.pop(ordinal, None)
        if decision == "wait":
            self.waiting[ordinal] = step
        elif decision == "stop":
            self.conductor.ended(ordinal, "stopped")
        elif step == 27:
            self.conductor.ended(ordinal, "finished")
        else:
            self.schedule(ordinal, step + 3)


@pytest.mark.parametrize("sampler", ["random", "tpe", "nsga2"])
def test_deterministic_order_gives_one_ledger_whatever_the_timing(tmp_path, sampler):
    found = []
    for seed in range(3):
        settings = config("deterministic", search={"sampler": sampler, "trials": 12, "seed": 1, "startup": 4})
        simulation = Simulation(settings, tmp_path / str(seed), seed)
        # Nothing is evaluated here: proposals that would learn from scores must not wait for them for ever.
        simulation.conductor.unscored = set(range(12))
        simulation.run()
        found.append(comparable(simulation.ledger.state()))
    assert found[0]["trials"] and found[0] == found[1] == found[2]
    statuses = [trial["status"] for trial in found[0]["trials"].values()]
    assert {"finished", "stopped"} == set(statuses)


def test_slots_bound_the_trials_at_a_time_and_are_all_used(tmp_path):
    simulation = Simulation(config("asynchronous", slots=4), tmp_path, 0)
    simulation.run()
    assert simulation.most == 4
    assert len(simulation.conductor.trials) == 24


def test_a_driver_killed_anywhere_goes_on_to_the_same_ledger(tmp_path):
    undisturbed = Simulation(config("deterministic"), tmp_path / "whole", 0)
    undisturbed.run()
    expected = comparable(undisturbed.ledger.state())
    for turns in (1, 5, 17, 40, 71):
        simulation = Simulation(config("deterministic"), tmp_path / str(turns), 5)
        simulation.run(turns)
        simulation.begin()  # a new conductor over the same ledger: the unfinished trials replay their reports
        simulation.run()
        assert comparable(simulation.ledger.state()) == expected, f"killed after {turns} turns"


def test_the_time_budget_ends_proposals_and_not_trials(tmp_path):
    simulation = Simulation(config("asynchronous", trials=1000, budget={"hours": 10 / 3600}), tmp_path, 0)
    simulation.run()
    trials = simulation.conductor.trials.values()
    assert 3 < len(trials) < 200
    assert all(trial.has_ended for trial in trials)
    assert max(trial.proposed for trial in trials) <= 10
    assert simulation.conductor.reason.startswith("budget.hours: 0.0027")


def test_the_budget_of_gpu_hours_counts_what_trials_and_evaluations_computed(tmp_path):
    resources = {"slots": 3, "gpus": 0.5}
    simulation = Simulation(config("asynchronous", trials=1000, budget={"gpu_hours": 1.0}, resources=resources), tmp_path, 0)
    simulation.run()
    trials, spent = simulation.conductor.trials, gpu_hours(simulation.ledger.state(), 0.5)
    reports = sum(len(trial.reports) for trial in trials.values())
    assert spent == pytest.approx(0.5 * 100 * reports / 3600) and 1 <= spent < 1.5
    assert simulation.conductor.reason.startswith("budget.gpu_hours: 1.0")
    assert all(trial.has_ended for trial in trials.values())


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_replicates_come_one_after_another_and_wait_for_no_result(tmp_path, sampler):
    search = {"sampler": sampler, "trials": 4, "replicates": 3, "startup": 2}
    found = []
    for seed in range(2):
        simulation = Simulation(config("deterministic", slots=3, search=search), tmp_path / str(seed), seed)
        simulation.conductor.unscored = set(range(12))
        simulation.run()
        found.append(comparable(simulation.ledger.state()))
    assert found[0] == found[1] and len(found[0]["trials"]) == 12
    assert [trial["params"]["seed"] for trial in found[0]["trials"].values()] == [0, 1, 2] * 4
    weights = [trial["params"]["weight"] for trial in found[0]["trials"].values()]
    assert len(set(weights)) == 4 and weights[0] == weights[1] == weights[2]


def test_a_failed_trial_frees_its_slot_and_holds_up_nobody(tmp_path):
    simulation = Simulation(config("deterministic", trials=4, slots=2), tmp_path, 0)
    first, second = simulation.conductor.next_trial(), simulation.conductor.next_trial()
    assert simulation.conductor.next_trial() is Next.WAIT
    simulation.waiting = {}
    simulation.report(second.ordinal, 3)
    assert simulation.waiting == {1: 3}, "rung decisions are taken in the order of trials"
    simulation.conductor.ended(first.ordinal, "failed", "worker died")
    simulation.settle(second.ordinal, 3)
    assert simulation.waiting == {}
    assert simulation.conductor.next_trial().ordinal == 2


def test_a_trial_that_is_given_back_is_handed_out_before_any_new_one(tmp_path):
    run = Simulation(config("deterministic"), tmp_path, 0)
    first, second = run.conductor.next_trial(), run.conductor.next_trial()
    run.conductor.given_back(first.ordinal, "its node died")
    again = run.conductor.next_trial()
    assert again.ordinal == first.ordinal and again.retries == ["its node died"] and again.status == "running"
    assert run.conductor.next_trial().ordinal == second.ordinal + 1
