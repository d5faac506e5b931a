"""Proposes trials: random, grid, TPE and NSGA-II, by Optuna's ask and tell.

A proposal is a function of (seed, ordinal, results shown, proposals still pending): each
`ask` shows an in-memory study exactly these, in the order of ordinals. So a searcher rebuilt
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
        self._keys: dict[int, tuple[dict[str, Any], str]] = {}
        self._study: ToldStudy | None = None
        self._held: list[Setting] = []  # the final settings, in order and without a gap, that the study holds

    def learns(self, ordinal: int) -> bool:
        """Whether the proposal depends on results: a further replicate of a setting repeats the first."""
        return ordinal % self._search.replicates == 0

    def ask(
        self, ordinal: int, visible: Sequence[Trial], pending: Sequence[Trial] = (), untrained: Mapping[str, float] | None = None
    ) -> Suggestion:
        """Proposal `ordinal`. `visible`: ended trials whose results it may learn from; `pending`: other earlier
        proposals; `untrained`: the untrained student's figures on dev, where a constraint names them."""
        place, replicate = divmod(ordinal, self._search.replicates)
        if replicate:
            first = next(trial for trial in (*visible, *pending) if trial.ordinal == ordinal - replicate)
            return self._replicate({name: first.varied[name] for name in self._space.recall(first.varied)}, replicate)
        return self._replicate(self._proposed(place, visible, pending, untrained or {}).varied, 0)

    def _proposed(self, place: int, visible: Sequence[Trial], pending: Sequence[Trial], untrained: Mapping[str, float]) -> Suggestion:
        if self._search.sampler == "grid":
            return next(islice(self._space.grid(), place, None))
        tried = {self._key_of(trial) for trial in (*visible, *pending)}
        settings = [] if self._search.sampler == "random" else self._settings(visible, pending)
        for attempt in range(ATTEMPTS):
            seed = int(np.random.SeedSequence([self._search.seed, place, attempt]).generate_state(1)[0])
            if self._search.sampler == "random":
                suggestion = self._space.sample(np.random.default_rng(seed))
            else:
                suggestion = self._sampled(seed, place, settings, untrained)
            if self._key(suggestion.varied) not in tried:
                return suggestion
        return self._untried(tried, np.random.default_rng([self._search.seed, place])) or suggestion

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

    def _settings(self, visible: Sequence[Trial], pending: Sequence[Trial]) -> list[Setting]:
        settled = [trial for trial in visible if self.is_settled(trial)]
        others = [*pending, *(trial for trial in visible if not self.is_settled(trial))]
        return settings_of(settled, others, self._search.replicates)

    def _key_of(self, trial: Trial) -> str:
        """`_key`, worked out once a trial."""
        held = self._keys.get(trial.ordinal)
        if held is None or held[0] is not trial.varied:
            held = self._keys[trial.ordinal] = (trial.varied, self._key(trial.varied))
        return held[1]

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

    def _sampled(self, seed: int, place: int, settings: Sequence[Setting], untrained: Mapping[str, float]) -> Suggestion:
        from sweeps.told_study import GENERATION

        study = self._told(_sampler(self._search.sampler, seed, self._search.startup), settings, untrained)
        asked = study.ask()
        # Optuna counts generations by completed trials, which depends on timing; here a setting's generation
        # follows from its place, told through the attribute that Optuna reads.
        study._storage.set_trial_system_attr(asked._trial_id, GENERATION, self._generation(place, settings))

        def choose(name: str, entry: Entry) -> Any:
            if isinstance(entry, Choice):
                return entry.values[asked.suggest_categorical(name, range(len(entry.values)))]
            if isinstance(entry, Integer):
                return asked.suggest_int(name, entry.low, entry.high)
            return asked.suggest_float(name, entry.low, entry.high, log=entry.log)

        return self._space.suggest(choose)

    def _told(self, sampler: Any, settings: Sequence[Setting], untrained: Mapping[str, float]) -> optuna.Study:
        """The study of what is shown; the leading final settings are told once and kept."""
        from sweeps.told_study import ToldStudy

        shown = [*self._earlier, *settings]
        final = next((n for n, setting in enumerate(shown) if not setting.is_final or self._has_gap(n, setting)), len(shown))
        kept = next((n for n, pair in enumerate(zip(self._held, shown[:final])) if _differ(*pair)), min(len(self._held), final))
        if self._study is None:
            self._study = ToldStudy([objective.direction for objective in self._search.objectives])
        frozen = [self._frozen(setting, untrained, n < len(self._earlier)) for n, setting in enumerate(shown[kept:], kept)]
        study = self._study.told(kept, frozen, sampler, self._whole_generations(min(final, len(self._held))))
        self._held = shown[:final]
        return study

    def _whole_generations(self, final: int) -> int:
        """How many generations, from 0 on, the first `final` of what is shown fill."""
        own = final - len(self._earlier)
        return 0 if own < 0 else self._first_generation + own // self._search.startup

    def _has_gap(self, position: int, setting: Setting) -> bool:
        return position >= len(self._earlier) and setting.place != position - len(self._earlier)

    @property
    def _first_generation(self) -> int:
        """Of the sweep's own settings: those of earlier sweeps come before."""
        return 1 if self._earlier else 0

    def _generation(self, place: int, settings: Sequence[Setting]) -> int:
        """The newest generation up to the setting's own whose predecessor shows two parents at least."""
        first, startup = self._first_generation, self._search.startup
        generation = first + place // startup
        while generation and self._parents(generation - 1, settings) < 2:
            generation -= 1
        return generation

    def _parents(self, generation: int, settings: Sequence[Setting]) -> int:
        first, startup = self._first_generation, self._search.startup
        if generation < first:
            members: Sequence[Setting] = self._earlier
        else:
            begin = (generation - first) * startup
            members = [setting for setting in settings if begin <= setting.place < begin + startup]
        return sum(setting.outcome(self._search.objectives) == "finished" for setting in members)

    def _frozen(self, setting: Setting, untrained: Mapping[str, float], is_earlier: bool = False) -> optuna.trial.FrozenTrial:
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


def _differ(one: Setting, other: Setting) -> bool:
    return one.place != other.place or any(a is not b for a, b in zip(one.trials, other.trials, strict=True))


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
