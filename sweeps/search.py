"""Proposes trials: random, grid, TPE and NSGA-II, by Optuna's ask and tell.

A proposal is a function of (seed, ordinal, results shown, proposals still pending): every
`ask` builds a fresh in-memory study from what it is shown, in the order of ordinals. So a
searcher rebuilt from a ledger proposes what the one that went on would have proposed, and
there is one source of truth. Trials stopped early are told as pruned, with what they
reported by then; failed ones, and results that are not finite, as failed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from sweeps.config import SweepConfig
from sweeps.ledger_state import Trial
from sweeps.space import Choice, Entry, Integer, Suggestion, same

if TYPE_CHECKING:
    import optuna

ATTEMPTS = 4  # proposals drawn before a repeated one is replaced by a point not tried yet
LISTED = 100_000  # points of a finite space that are listed to find one not tried yet


class Searcher:
    def __init__(self, config: SweepConfig):
        self._search, self._metric = config.search, config.scheduler.metric
        self._space = config.space
        points = self._space.size
        asked = config.search.trials
        self.trials: int = points if asked is None else asked if points is None else min(asked, points)
        """How many trials the sweep proposes: never more than the space has points."""

    def ask(self, ordinal: int, visible: Sequence[Trial], pending: Sequence[Trial] = ()) -> Suggestion:
        """Proposal `ordinal`. `visible`: ended trials whose results it may learn from; `pending`: other earlier proposals."""
        if self._search.sampler == "grid":
            return next(islice(self._space.grid(), ordinal, None))
        tried = {_key(trial.varied) for trial in (*visible, *pending)}
        for attempt in range(ATTEMPTS):
            seed = int(np.random.SeedSequence([self._search.seed, ordinal, attempt]).generate_state(1)[0])
            if self._search.sampler == "random":
                suggestion = self._space.sample(np.random.default_rng(seed))
            else:
                suggestion = self._sampled(seed, ordinal, visible, pending)
            if _key(suggestion.varied) not in tried:
                return suggestion
        return self._untried(tried, np.random.default_rng([self._search.seed, ordinal])) or suggestion

    def is_settled(self, trial: Trial) -> bool:
        """Whether all that proposals learn from the trial is there: a finished one needs its newest checkpoint's scores."""
        if self._search.sampler in ("random", "grid") or trial.status in ("stopped", "failed"):
            return trial.has_ended
        newest = max(trial.checkpoints, default=None)
        return trial.has_ended and (newest is None or "dev" in trial.checkpoints[newest].scores)

    def _untried(self, tried: set[str], rng: np.random.Generator) -> Suggestion | None:
        """A point of a finite space that no trial has."""
        if self._space.size is None:
            return None
        left = [point for point in islice(self._space.grid(), LISTED) if _key(point.varied) not in tried]
        return left[int(rng.integers(len(left)))] if left else None

    def _sampled(self, seed: int, ordinal: int, visible: Sequence[Trial], pending: Sequence[Trial]) -> Suggestion:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(
            sampler=_sampler(self._search.sampler, seed, self._search.startup),
            directions=[objective.direction for objective in self._search.objectives],
        )
        told = [(trial, False) for trial in visible] + [(trial, True) for trial in pending]
        for trial, is_pending in sorted(told, key=lambda pair: pair[0].ordinal):
            study.add_trial(self._frozen(trial, is_pending))
        asked = study.ask()
        study._storage.set_trial_system_attr(asked._trial_id, _GENERATION, self._generation(ordinal, visible))

        def choose(name: str, entry: Entry) -> Any:
            if isinstance(entry, Choice):
                return entry.values[asked.suggest_categorical(name, range(len(entry.values)))]
            if isinstance(entry, Integer):
                return asked.suggest_int(name, entry.low, entry.high)
            return asked.suggest_float(name, entry.low, entry.high, log=entry.log)

        return self._space.suggest(choose)

    def _generation(self, ordinal: int, visible: Sequence[Trial]) -> int:
        """The newest generation up to the ordinal's own whose predecessor shows two parents at least."""
        finished = [t.ordinal // self._search.startup for t in visible if t.status == "finished" and self._values(t)]
        generation = ordinal // self._search.startup
        while generation and finished.count(generation - 1) < 2:
            generation -= 1
        return generation

    def _frozen(self, trial: Trial, is_pending: bool) -> optuna.trial.FrozenTrial:
        from optuna.trial import TrialState, create_trial

        recalled = self._space.recall(trial.varied)
        state = self._state(trial, is_pending)
        return create_trial(
            state=state,
            params={name: _optuna_value(entry, value) for name, (entry, value) in recalled.items()},
            distributions={name: _distribution(entry) for name, (entry, _) in recalled.items()},
            values=self._values(trial) if state == TrialState.COMPLETE else None,
            intermediate_values=self._intermediate(trial) if state == TrialState.PRUNED else None,
            user_attrs={"steps": max(trial.reports, default=0)},  # the budget it had
            system_attrs={_GENERATION: trial.ordinal // self._search.startup},
        )

    def _state(self, trial: Trial, is_pending: bool) -> optuna.trial.TrialState:
        from optuna.trial import TrialState

        if trial.status == "stopped":
            return TrialState.RUNNING if is_pending else TrialState.PRUNED
        if is_pending or not self.is_settled(trial):
            return TrialState.RUNNING
        return TrialState.COMPLETE if trial.status == "finished" and self._values(trial) else TrialState.FAIL

    def _values(self, trial: Trial) -> list[float] | None:
        """The objectives at the newest checkpoint on dev; None where one is absent or not finite."""
        newest = max(trial.checkpoints, default=None)
        scores = None if newest is None else trial.checkpoints[newest].scores.get("dev")
        values = [scores.figures.get(f"dev/{o.metric}", math.nan) for o in self._search.objectives] if scores else []
        return values if values and all(map(math.isfinite, values)) else None

    def _intermediate(self, trial: Trial) -> dict[int, float]:
        """What a pruned trial reported, as Optuna ranks it: for one objective only, and in its direction."""
        if len(self._search.objectives) > 1:
            return {}
        sign = 1 if self._search.objectives[0].direction == "maximize" else -1
        values = {step: sign * report.metrics.get(self._metric, math.nan) for step, report in trial.reports.items()}
        return {step: value for step, value in values.items() if math.isfinite(value)}


# Optuna counts generations by completed trials, which depends on timing; here a trial's
# generation follows from its ordinal, told through the attribute that Optuna reads.
_GENERATION = "NSGAIISampler:generation"


def _sampler(name: str, seed: int, startup: int) -> optuna.samplers.BaseSampler:
    from optuna.samplers import NSGAIISampler, TPESampler

    if name == "tpe":
        return TPESampler(n_startup_trials=startup, seed=seed)
    return NSGAIISampler(population_size=startup, seed=seed)


def _distribution(entry: Entry) -> optuna.distributions.BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(entry, Choice):
        return CategoricalDistribution(range(len(entry.values)))
    if isinstance(entry, Integer):
        return IntDistribution(entry.low, entry.high)
    return FloatDistribution(entry.low, entry.high, log=entry.log)


def _optuna_value(entry: Entry, value: Any) -> Any:
    """Choices go by position: Optuna's categories must be hashable, and lists and mappings are not."""
    return next(i for i, one in enumerate(entry.values) if same(one, value)) if isinstance(entry, Choice) else value


def _key(varied: dict[str, Any]) -> str:
    return json.dumps(varied, sort_keys=True)
