"""Which trials stop early or go on from another one, decided from what the trials have reported: no clock, no Ray.

A scheduler remembers only what cannot change any more (`_Past`), so one made anew from a
ledger decides as the one that went on.

With `order: deterministic` a decision about trial i sees the trials up to i only and waits
until each of them has come as far or has ended: the same decisions whatever the timing. No
deadlock: trials start in the order of their ordinals, so the lowest one that runs waits for
nobody. With `order: asynchronous` a decision sees whoever has come as far by now.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Literal, Protocol

from sweeps.config import SweepConfig
from sweeps.ledger_state import Trial
from sweeps.population import Exploit, Mutation, Pbt
from sweeps.population_checks import mutated

LEAST = 3  # other trials without which the median rule says nothing
Decision = Literal["continue", "stop", "wait"]


class Scheduler(Protocol):
    def decide(self, trials: Mapping[int, Trial], ordinal: int, step: int) -> Decision | Exploit:
        """For a trial that has just reported `step`. The last report of a trial is never a reason to stop it."""
        ...


def scheduler_of(config: SweepConfig) -> Scheduler:
    chosen, in_order = config.scheduler, config.order == "deterministic"
    if chosen.kind == "asha":
        return Asha(chosen.metric, in_order, chosen.grace, chosen.reduction)
    if chosen.kind == "median":
        return Median(chosen.metric, in_order, chosen.grace)
    if chosen.kind == "pbt":
        mutation = Mutation(config.space, mutated(chosen, config.space), chosen.resample_probability, chosen.factor)
        return Pbt(chosen.metric, chosen.perturb_every, chosen.quantile, mutation, config.search.seed)
    return KeepAll()


@dataclass(frozen=True)
class KeepAll:
    def decide(self, trials: Mapping[int, Trial], ordinal: int, step: int) -> Decision:
        return "continue"


@dataclass(frozen=True)
class Asha:
    """Asynchronous successive halving, stopping variant (Li et al., arXiv 1810.05934).

    Rungs lie at grace, grace * reduction, grace * reduction^2, ... optimiser steps; a trial
    is judged by its first report at or after a rung and goes on when it is among the best
    ceil(n / reduction) of the n trials seen there, itself included; equals go on.
    """

    metric: str
    in_order: bool
    grace: int
    reduction: int
    _past: dict[int, _Past] = field(default_factory=dict, init=False, repr=False, compare=False)  # by rung

    def decide(self, trials: Mapping[int, Trial], ordinal: int, step: int) -> Decision:
        trial = trials[ordinal]
        value = trial.reports[step].metrics[self.metric]
        if not math.isfinite(value):  # NaN compares false with everything: said first
            return "stop"
        rung = self._rung_reached(trial, step)
        if rung is None or step >= trial.params["steps"]:
            return "continue"
        others = self._past.setdefault(rung, _Past(self._value_at, rung)).seen_by(trial, trials, self.in_order)
        if others is None:
            return "wait"
        better = sum(1 for other in others if other > value)
        return "continue" if better < math.ceil((len(others) + 1) / self.reduction) else "stop"

    def _rung_reached(self, trial: Trial, step: int) -> int | None:
        """The highest rung that this report is the first to reach."""
        before = max((s for s in trial.reports if s < step), default=0)
        rung, reached = self.grace, None
        while rung <= step:
            reached = rung if before < rung else reached
            rung *= self.reduction
        return reached

    def _value_at(self, trial: Trial, rung: int) -> float | None:
        step = min((s for s in trial.reports if s >= rung), default=None)
        value = None if step is None else trial.reports[step].metrics[self.metric]
        return value if value is not None and math.isfinite(value) else None


@dataclass(frozen=True)
class Median:
    """The median rule (Golovin et al., Google Vizier, 2017).

    From `grace` optimiser steps on, a trial stops when its best value so far is under the
    median of the other trials' means up to the same step, once LEAST others are seen.
    """

    metric: str
    in_order: bool
    grace: int
    _past: dict[int, _Past] = field(default_factory=dict, init=False, repr=False, compare=False)  # by step

    def decide(self, trials: Mapping[int, Trial], ordinal: int, step: int) -> Decision:
        trial = trials[ordinal]
        if not math.isfinite(trial.reports[step].metrics[self.metric]):
            return "stop"
        if step < self.grace or step >= trial.params["steps"]:
            return "continue"
        means = self._past.setdefault(step, _Past(self._mean_until, step)).seen_by(trial, trials, self.in_order)
        if means is None:
            return "wait"
        best = max(self._until(trial, step))
        return "stop" if len(means) >= LEAST and best < median(means) else "continue"

    def _until(self, trial: Trial, step: int) -> list[float]:
        values = (report.metrics[self.metric] for s, report in trial.reports.items() if s <= step)
        return [value for value in values if math.isfinite(value)]

    def _mean_until(self, trial: Trial, step: int) -> float | None:
        values = self._until(trial, step) if max(trial.reports, default=0) >= step else []
        return fmean(values) if values else None


class _Past:
    """One value of each trial that has come as far as `step`, kept once it is final."""

    def __init__(self, value_of: Callable[[Trial, int], float | None], step: int):
        self._value_of, self._step = value_of, step
        self._final: list[float | None] = []  # of the trials 0, 1, ... without a gap; None: never came so far

    def seen_by(self, trial: Trial, trials: Mapping[int, Trial], in_order: bool) -> list[float] | None:
        """The other trials' values; None when an earlier one is still awaited."""
        while len(self._final) in trials and self._is_final(trials[len(self._final)]):
            self._final.append(self._value_of(trials[len(self._final)], self._step))
        if in_order:
            if len(self._final) < trial.ordinal:
                return None
            values = self._final[: trial.ordinal]
        else:
            later = (trials[ordinal] for ordinal in range(len(self._final), len(trials)) if ordinal != trial.ordinal)
            values = self._final[: trial.ordinal] + self._final[trial.ordinal + 1 :]
            values += [self._value_of(other, self._step) for other in later]
        return [value for value in values if value is not None]

    def _is_final(self, trial: Trial) -> bool:
        return trial.has_ended or max(trial.reports, default=0) >= self._step
