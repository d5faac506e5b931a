"""Schedulers on a simulated clock: thousands of trials, no deadlock, decisions free of timing."""

from __future__ import annotations

import heapq
import math

import numpy as np
import pytest

from sweeps.ledger_state import Report, Trial
from sweeps.schedulers import Asha, KeepAll, Median

METRIC = "inline/Answer@10"
STEPS, EVERY = 180, 20


def quality(ordinal: int, step: int) -> float:
    """What trial `ordinal` reports at `step`: a curve of its own, the same whatever the timing."""
    rng = np.random.default_rng([ordinal, step])
    return float(np.random.default_rng(ordinal).random() * step / STEPS + 0.02 * rng.standard_normal())


def simulate(scheduler, trials: int, slots: int, seed: int, broken: float = 0.0) -> dict[int, Trial]:
    """Runs a sweep whose reports take random times. A trial that waits keeps its slot. Asserts that it ends."""
    rng = np.random.default_rng(seed)
    state: dict[int, Trial] = {}
    events: list[tuple[float, int]] = []
    waiting: list[int] = []
    running: set[int] = set()
    now = 0.0

    def start() -> None:
        while len(running) < slots and len(state) < trials:
            ordinal = len(state)
            state[ordinal] = Trial(ordinal, str(ordinal), {"steps": STEPS}, {}, now, "running")
            running.add(ordinal)
            heapq.heappush(events, (now + float(rng.exponential()), ordinal))

    def end(ordinal: int, status: str) -> None:
        state[ordinal].status = status
        running.discard(ordinal)

    def judge(ordinal: int) -> bool:
        step = max(state[ordinal].reports)
        decision = scheduler.decide(state, ordinal, step)
        if decision == "wait":
            return False
        if decision == "stop":
            end(ordinal, "stopped")
        elif step >= STEPS:
            end(ordinal, "finished")
        else:
            heapq.heappush(events, (now + float(rng.exponential()), ordinal))
        return True

    start()
    while running:
        assert events, f"deadlock: {sorted(running)} run, {waiting} wait"
        now, ordinal = heapq.heappop(events)
        if np.random.default_rng([ordinal, 7]).random() < broken:
            end(ordinal, "failed")
        else:
            step = max(state[ordinal].reports, default=0) + EVERY
            state[ordinal].reports[step] = Report({METRIC: quality(ordinal, step)}, now, {})
            waiting.append(ordinal)
        again = True
        while again:  # whatever was decided may free others
            judged = [o for o in waiting if judge(o)]
            waiting = [o for o in waiting if o not in judged]
            again = bool(judged)
        start()
    assert len(state) == trials
    return state


def fates(state: dict[int, Trial]) -> list[tuple[str, int]]:
    return [(state[o].status, max(state[o].reports, default=0)) for o in sorted(state)]


RULES = [(Asha, True, 20, 3), (Asha, True, 40, 2), (Median, True, 40), (KeepAll,)]


def made(rule):
    """A scheduler that remembers nothing yet."""
    kind, *settings = rule
    return kind(METRIC, *settings) if settings else kind()


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("slots", [1, 2, 7])
def test_in_order_the_decisions_do_not_depend_on_timing(rule, slots):
    expected = fates(simulate(made(rule), 60, 1, seed=0, broken=0.05))
    for seed in (1, 2):
        assert fates(simulate(made(rule), 60, slots, seed, broken=0.05)) == expected


@pytest.mark.parametrize("in_order", [True, False])
def test_thousands_of_trials_end_and_the_good_ones_are_kept(in_order):
    state = simulate(Asha(METRIC, in_order, 20, 3), 3000, 16, seed=3, broken=0.02)
    finished = [o for o, t in state.items() if t.status == "finished"]
    stopped = [o for o, t in state.items() if t.status == "stopped"]
    assert 0.02 < len(finished) / 3000 < 0.15  # three rungs, a third kept at each: 3.7% and the lucky first ones
    best = {o for o in state if np.random.default_rng(o).random() > 0.97 and state[o].status != "failed"}
    assert len(best & set(finished)) / len(best) > 0.9
    assert {max(state[o].reports) for o in stopped} == {20, 60, 180} - {180}


def test_made_anew_from_the_ledger_it_decides_the_same():
    """A scheduler that remembers, against one that is made anew for every decision."""

    class Forgetful:
        def decide(self, trials, ordinal, step):
            return Asha(METRIC, False, 20, 3).decide(trials, ordinal, step)

    assert fates(simulate(Forgetful(), 150, 5, seed=6)) == fates(simulate(Asha(METRIC, False, 20, 3), 150, 5, seed=6))


def test_asynchronous_order_never_waits():
    class Watched(Asha):
        def decide(self, trials, ordinal, step):
            decision = super().decide(trials, ordinal, step)
            assert decision != "wait"
            return decision

    simulate(Watched(METRIC, False, 20, 3), 200, 5, seed=4)


def a_state(values: list[float | None], step: int = 20, status: str = "running") -> dict[int, Trial]:
    state = {}
    for ordinal, value in enumerate(values):
        state[ordinal] = Trial(ordinal, str(ordinal), {"steps": 100}, {}, 0.0, status)
        if value is not None:
            state[ordinal].reports[step] = Report({METRIC: value}, 0.0, {})
    return state


def test_asha_keeps_the_best_third_and_equals():
    rule = Asha(METRIC, False, 20, 3)
    state = a_state([0.1, 0.2, 0.3, 0.4, 0.5, 0.5])
    assert [rule.decide(state, o, 20) for o in range(6)] == ["stop"] * 4 + ["continue"] * 2
    assert Asha(METRIC, False, 20, 3).decide(a_state([0.0]), 0, 20) == "continue"  # alone it is the best


def test_asha_in_order_waits_for_earlier_trials_that_may_still_come():
    rule = Asha(METRIC, True, 20, 3)
    state = a_state([None, 0.2, 0.9])
    assert rule.decide(state, 1, 20) == "wait"
    state[0].status = "failed"
    assert rule.decide(state, 1, 20) == "continue"  # the later, better trial 2 is not seen
    assert rule.decide(state, 2, 20) == "continue"


def test_asha_judges_once_a_rung_by_the_first_report_at_or_after_it():
    rule = Asha(METRIC, False, 30, 2)  # rungs 30, 60, ...; reports at 20, 40, 60
    state = a_state([0.1, 0.9, 0.9], step=40)
    for trial in state.values():
        trial.reports[20] = Report({METRIC: 0.0}, 0.0, {})
    assert rule.decide(state, 0, 20) == "continue"
    assert rule.decide(state, 0, 40) == "stop"
    state[0].reports[50] = state[0].reports[40]
    assert rule.decide(state, 0, 50) == "continue"


@pytest.mark.parametrize("rule", [(Asha, False, 20, 3), (Median, False, 20)], ids=str)
def test_nan_is_never_kept_and_never_counts(rule):
    rule = made(rule)
    state = a_state([math.nan, 0.1, 0.2, 0.3, 0.4])
    assert rule.decide(state, 0, 20) == "stop"
    assert rule.decide(state, 4, 20) == "continue"
    assert rule.decide(state, 1, 20) == "stop"


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_last_report_is_no_reason_to_stop(rule):
    state = a_state([0.9, 0.8, 0.7, 0.6, 0.0], step=100)
    assert made(rule).decide(state, 4, 100) == "continue"


def test_median_compares_the_best_so_far_with_the_means_of_the_others():
    rule = Median(METRIC, False, 20)
    state = a_state([0.4, 0.5, 0.6, 0.45])
    assert rule.decide(state, 3, 20) == "stop"  # under 0.5
    state[3].reports[40] = Report({METRIC: 0.7}, 0.0, {})
    assert rule.decide(state, 3, 40) == "continue"  # nobody else came as far
    for other in (0, 1, 2):
        state[other].reports[40] = Report({METRIC: 1.1}, 0.0, {})
    assert rule.decide(state, 3, 40) == "stop"  # 0.7 under the median of 0.75, 0.8, 0.85
