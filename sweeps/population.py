"""Population based training (Jaderberg et al., arXiv 1711.09846): weak trials go on from strong ones' weights.

Like the other schedulers it knows neither clock nor Ray: a decision follows from what the trials have reported by now,
and chance from (seed, ordinal, step).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sweeps.ledger_state import Trial
from sweeps.space import Choice, Entry, Integer, Space, Suggestion


@dataclass(frozen=True)
class Exploit:
    """A trial goes on from the checkpoint that trial `donor` has at the same step, under the recipe of `suggestion`."""

    donor: int
    suggestion: Suggestion


@dataclass(frozen=True)
class Mutation:
    """How the fields named in `mutate` become new values: drawn anew from the space with `resample_probability`, else
    the donor's times or over `factor`. The trial keeps its other fields."""

    space: Space
    mutate: tuple[str, ...]
    resample_probability: float
    factor: float

    def suggest(self, own: Mapping[str, Any], donor: Mapping[str, Any], rng: np.random.Generator) -> Suggestion:
        """`own`, `donor`: what the two trials vary."""

        def choose(name: str, entry: Entry) -> Any:
            if name not in self.mutate:
                return own[name]
            resampled = rng.random() < self.resample_probability
            try:
                value = entry.own(donor[name])
            except LookupError:  # under the donor's conditions the field is another one, or absent
                resampled = True
            return entry.draw(rng) if resampled else self._perturbed(entry, value, rng)

        suggestion = self.space.suggest(choose)
        if "seed" not in own:
            return suggestion
        seed = {"seed": own["seed"]}  # of a replicate: the space does not know it
        return Suggestion(suggestion.recipe.model_copy(update=seed), suggestion.varied | seed)

    def _perturbed(self, entry: Entry, value: Any, rng: np.random.Generator) -> Any:
        """Within the entry's bounds; a whole number moves by 1 at least; choices are in no order and stay."""
        if isinstance(entry, Choice):
            return value
        up = rng.random() < 0.5
        scaled = value * self.factor if up else value / self.factor
        if isinstance(entry, Integer):
            moved = round(scaled)
            scaled = moved if moved != value else value + (1 if up else -1)
        return min(max(scaled, entry.low), entry.high)


@dataclass(frozen=True)
class Pbt:
    """At each multiple of `perturb_every` optimiser steps a trial is ranked among all that have come as far, itself
    included; of n, the best and the worst ceil(n quantile), at most half each, are the quantiles.

    One of the worst takes over a checkpoint of one of the best, if that has reported more. It is the one of the same
    step, not a later one: a trial's step counts the updates behind its weights, its learning rate follows from it, and
    trials are held against each other at equal steps.
    """

    metric: str
    perturb_every: int
    quantile: float
    mutation: Mutation
    seed: int

    def decide(self, trials: Mapping[int, Trial], ordinal: int, step: int) -> Literal["continue", "stop"] | Exploit:
        trial = trials[ordinal]
        value = trial.reports[step].metrics[self.metric]
        if not math.isfinite(value):
            return "stop"
        if step % self.perturb_every or step >= trial.params["steps"]:
            return "continue"
        ranking = self._ranking(trials, step)
        size = min(math.ceil(len(ranking) * self.quantile), len(ranking) // 2)
        if not size or (value, ordinal) not in ranking[-size:]:
            return "continue"
        donors = [other for reported, other in ranking[:size] if reported > value and _has_checkpoint(trials[other], step)]
        if not donors:
            return "continue"
        rng = np.random.default_rng([self.seed, ordinal, step])
        donor = trials[donors[int(rng.integers(len(donors)))]]
        return Exploit(donor.ordinal, self.mutation.suggest(trial.varied_at(step), donor.varied_at(step), rng))

    def _ranking(self, trials: Mapping[int, Trial], step: int) -> list[tuple[float, int]]:
        """(value, ordinal) of the trials that reported `step`, the best first; of equals the lower ordinal."""
        reports = ((trial.reports[step].metrics[self.metric], ordinal) for ordinal, trial in trials.items()
                   if step in trial.reports and trial.status != "failed")  # fmt: skip
        return sorted(((value, ordinal) for value, ordinal in reports if math.isfinite(value)), key=lambda one: (-one[0], one[1]))


def _has_checkpoint(trial: Trial, step: int) -> bool:
    return step in trial.checkpoints and not trial.checkpoints[step].removed
