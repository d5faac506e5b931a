"""Proposes trials: random, grid, TPE and NSGA-II, by Optuna's ask and tell.

A proposal is a function of (seed, ordinal, results shown, proposals still pending): each
`ask` shows an in-memory study exactly these, in the order of ordinals, and tells it once what can no longer change. So a searcher rebuilt
from a ledger proposes what the one that went on would have proposed, and there is one
source of truth. Settings stopped early are told as pruned, with what they reported by then;
failed ones, and results that are not finite, as failed; guardrails as constraints. Trials of
earlier sweeps (`search.warm_start`) come first.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from sweeps.config import SweepConfig
from sweeps.constraints import violations
from sweeps.ledger_state import Trial
from sweeps.settings import Setting, settings_of
from sweeps.space import Choice, Entry, Integer, Suggestion, same

if TYPE_CHECKING:
    import optuna

    from sweeps.told_study import ToldStudy

ATTEMPTS = 4  # proposals drawn before a repeated one is replaced by a point not tried yet
LISTED = 100_000  # points of a finite space that are listed to find one not tried yet


class Searcher:
    """`earlier`: trials of earlier sweeps (sweeps/warm_start.py), each a setting of its own, to learn from."""

    def __init__(self, config: SweepConfig, earlier: Sequence[Trial] = ()):
        self._search, self._metric = config.search, config.scheduler.metric
        self._space = config.space
        points = self._space.size
        asked = config.search.trials
        settings: int = points if asked is None else asked if points is None else min(asked, points)
        self.trials = settings * config.search.replicates
        """How many trials the sweep proposes: never more settings than the space has points."""
        self._earlier = [Setting(place, (trial,), True) for place, trial in enumerate(earlier)]
        self._tried: set[str] = set()  # keys of the trials it has learnt from
        self._final = list(self._earlier)  # settings all of whose trials it has learnt from, in order and without a gap
        self._later: dict[int, Trial] = {}  # the others that it has learnt from, by ordinal
        self._study: ToldStudy | None = None
        self._told = 0  # how many of the final settings the study holds

    def learns(self, ordinal: int) -> bool:
        """Whether the proposal depends on results: a further replicate of a setting repeats the first."""
        return ordinal % self._search.replicates == 0

    def ask(
        self,
        ordinal: int,
        visible: Sequence[Trial],
        pending: Sequence[Trial] = (),
        untrained: Mapping[str, float] | None = None,
    ) -> Suggestion:
        """Proposal `ordinal`. `visible`: ended trials whose results it may learn from, from now on: those of earlier
        calls need not be shown again; `pending`: all other earlier proposals; `untrained`: the untrained student's
        figures on dev, where a constraint names them."""
        pending = [*pending, *self._learn(visible)]
        place, replicate = divmod(ordinal, self._search.replicates)
        if replicate:
            first = next(trial for trial in (*self._later.values(), *pending) if trial.ordinal == ordinal - replicate)
            return self._replicate({name: first.varied[name] for name in self._space.recall(first.varied)}, replicate)
        return self._replicate(self._proposed(place, pending, untrained or {}).varied, 0)

    def _learn(self, visible: Sequence[Trial]) -> list[Trial]:
        """Takes in what is new and settled; returns what is not settled, and may be shown again."""
        unsettled, begin = [], self._ordinals(self._place).start
        for trial in visible:
            if not self.is_settled(trial):
                unsettled.append(trial)
            elif trial.ordinal >= begin:
                self._tried.add(self._key(trial.varied))
                self._later[trial.ordinal] = trial
        while set(ordinals := self._ordinals(self._place)) <= self._later.keys():
            self._final.append(Setting(self._place, tuple(map(self._later.pop, ordinals)), True))
        return unsettled

    def _ordinals(self, place: int) -> range:
        """Of a setting's trials."""
        return range(place * self._search.replicates, (place + 1) * self._search.replicates)

    @property
    def _place(self) -> int:
        """Of the first setting that is not final."""
        return len(self._final) - len(self._earlier)

    def _proposed(self, place: int, pending: Sequence[Trial], untrained: Mapping[str, float]) -> Suggestion:
        if self._search.sampler == "grid":
            return next(islice(self._space.grid(), place, None))
        known = {self._key(trial.varied) for trial in pending}
        is_random = self._search.sampler == "random"
        others = [] if is_random else settings_of([*self._later.values()], pending, self._search.replicates)
        for attempt in range(ATTEMPTS):
            seed = int(np.random.SeedSequence([self._search.seed, place, attempt]).generate_state(1)[0])
            if is_random:
                suggestion = self._space.sample(np.random.default_rng(seed))
            else:
                suggestion = self._sampled(seed, place, others, untrained)
            if (key := self._key(suggestion.varied)) not in self._tried and key not in known:
                return suggestion
        return self._untried(self._tried | known, np.random.default_rng([self._search.seed, place])) or suggestion

    def _replicate(self, varied: dict[str, Any], replicate: int) -> Suggestion:
        """The setting under the seed of one of its replicates."""
        suggestion = self._space.suggest(lambda name, _: varied[name])
        if self._search.replicates == 1:
            return suggestion
        seed = suggestion.recipe.seed + replicate
        return Suggestion(suggestion.recipe.model_copy(update={"seed": seed}), suggestion.varied | {"seed": seed})

    def is_settled(self, trial: Trial) -> bool:
        """Whether all that proposals learn from the trial is there: a finished one needs its newest checkpoint's scores."""
        if self._search.sampler in ("random", "grid") or trial.status in ("stopped", "failed") or trial.exploits:
            return trial.has_ended
        newest = max(trial.checkpoints, default=None)
        return trial.has_ended and (newest is None or "dev" in trial.checkpoints[newest].scores)

    def _key(self, varied: Mapping[str, Any]) -> str:
        """Names a setting, whatever the seed of its replicate."""
        searched = self._space.searched
        return json.dumps({name: value for name, value in varied.items() if name in searched}, sort_keys=True)

    def _untried(self, tried: set[str], rng: np.random.Generator) -> Suggestion | None:
        """A point of a finite space that no trial has."""
        if self._space.size is None:
            return None
        left = [point for point in islice(self._space.grid(), LISTED) if self._key(point.varied) not in tried]
        return left[int(rng.integers(len(left)))] if left else None

    def _sampled(self, seed: int, place: int, others: Sequence[Setting], untrained: Mapping[str, float]) -> Suggestion:
        from sweeps.told_study import GENERATION

        study = self._studied(_sampler(self._search.sampler, seed, self._search.startup), others, untrained)
        asked = study.ask()
        # Optuna counts generations by completed trials, which depends on timing; here a setting's generation
        # follows from its place, told through the attribute that Optuna reads.
        study._storage.set_trial_system_attr(asked._trial_id, GENERATION, self._generation(place, others))

        def choose(name: str, entry: Entry) -> Any:
            if isinstance(entry, Choice):
                return entry.values[asked.suggest_categorical(name, range(len(entry.values)))]
            if isinstance(entry, Integer):
                return asked.suggest_int(name, entry.low, entry.high)
            return asked.suggest_float(name, entry.low, entry.high, log=entry.log)

        return self._space.suggest(choose)

    def _studied(self, sampler: Any, others: Sequence[Setting], untrained: Mapping[str, float]) -> optuna.Study:
        """The study of all that is known; the final settings are told once and kept, the `others` anew each time."""
        from sweeps.told_study import ToldStudy

        if self._study is None:
            self._study = ToldStudy([objective.direction for objective in self._search.objectives])
        earlier, told = len(self._earlier), self._told
        final = [self._frozen(one, untrained, n < earlier) for n, one in enumerate(self._final[told:], told)]
        frozen = [*final, *(self._frozen(one, untrained) for one in others)]
        study = self._study.told(told, frozen, sampler, self._whole_generations(told))
        self._told = len(self._final)
        return study

    def _whole_generations(self, final: int) -> int:
        """How many generations, from 0 on, the first `final` of the final settings fill."""
        own = final - len(self._earlier)
        return 0 if own < 0 else self._first_generation + own // self._search.startup

    @property
    def _first_generation(self) -> int:
        """Of the sweep's own settings: those of earlier sweeps come before."""
        return 1 if self._earlier else 0

    def _generation(self, place: int, others: Sequence[Setting]) -> int:
        """The newest generation up to the setting's own whose predecessor shows two parents at least."""
        first, startup = self._first_generation, self._search.startup
        generation = first + place // startup
        while generation and self._parents(generation - 1, others) < 2:
            generation -= 1
        return generation

    def _parents(self, generation: int, others: Sequence[Setting]) -> int:
        first, startup = self._first_generation, self._search.startup
        if generation < first:
            members: Sequence[Setting] = self._earlier
        else:
            begin = (generation - first) * startup
            final = self._final[len(self._earlier) + begin : len(self._earlier) + begin + startup]
            members = [*final, *(setting for setting in others if begin <= setting.place < begin + startup)]
        return sum(setting.outcome(self._search.objectives) == "finished" for setting in members)

    def _frozen(
        self, setting: Setting, untrained: Mapping[str, float], is_earlier: bool = False
    ) -> optuna.trial.FrozenTrial:
        from optuna.trial import TrialState, create_trial

        from sweeps.told_study import GENERATION

        recalled = self._space.recall(setting.varied)
        outcome = setting.outcome(self._search.objectives)
        limits = violations(self._search.constraints, setting.figures(), untrained) if outcome == "finished" else {}
        if any(map(math.isnan, limits.values())):
            outcome = "failed"
        state = getattr(TrialState, _STATES[outcome])
        generation = 0 if is_earlier else self._first_generation + setting.place // self._search.startup
        return create_trial(
            state=state,
            params={name: _optuna_value(entry, value) for name, (entry, value) in recalled.items()},
            distributions={name: _distribution(entry) for name, (entry, _) in recalled.items()},
            values=setting.values(self._search.objectives) if state == TrialState.COMPLETE else None,
            intermediate_values=self._intermediate(setting) if state == TrialState.PRUNED else None,
            constraints=limits if state == TrialState.COMPLETE else None,
            user_attrs={"steps": setting.steps()},  # the budget it had
            system_attrs={GENERATION: generation},
        )

    def _intermediate(self, setting: Setting) -> dict[int, float]:
        """What a pruned setting reported, as Optuna ranks it: for one objective only, and in its direction."""
        if len(self._search.objectives) > 1:
            return {}
        sign = 1 if self._search.objectives[0].direction == "maximize" else -1
        return {step: sign * value for step, value in setting.intermediate(self._metric).items()}


_STATES = {"running": "RUNNING", "finished": "COMPLETE", "stopped": "PRUNED", "failed": "FAIL"}


def _sampler(name: str, seed: int, startup: int) -> optuna.samplers.BaseSampler:
    from optuna.samplers import TPESampler

    from sweeps.told_study import OrderedNSGAII

    if name == "tpe":
        return TPESampler(n_startup_trials=startup, seed=seed)
    return OrderedNSGAII(population_size=startup, seed=seed)


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
