"""An Optuna study that holds what a search was told, and takes back what may still change.

Between two proposals only the newest trials differ, so the study keeps the ones whose
outcome is final and is cut back to them: a proposal costs no rebuilding of thousands.
"""

from __future__ import annotations

from collections.abc import Sequence

import optuna
from optuna.samplers import NSGAIISampler
from optuna.storages import InMemoryStorage
from optuna.study import Study
from optuna.trial import FrozenTrial


class OrderedNSGAII(NSGAIISampler):
    """NSGA-II whose parents stand in the order of trials, be they selected now or found noted in the study."""

    def get_parent_population(self, study: Study, generation: int) -> list[FrozenTrial]:
        return sorted(super().get_parent_population(study, generation), key=lambda trial: trial.number)


GENERATION, PARENTS = f"{OrderedNSGAII.__name__}:generation", f"{OrderedNSGAII.__name__}:parent:"
"""Where Optuna notes a trial's generation, and in the study which trials became the parents of one."""


class ToldStudy:
    def __init__(self, directions: Sequence[str]):
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._storage = _Storage()
        self._directions = list(directions)
        self._study = optuna.create_study(storage=self._storage, directions=self._directions)

    def told(self, count: int, more: Sequence[FrozenTrial], sampler: optuna.samplers.BaseSampler, generations: int) -> Study:
        """The study with its first `count` trials and `more`, ready to be asked by `sampler`.

        `generations`: how many of them, from 0 on, held final trials only when it was asked last: what follows
        from these about parents stays known.
        """
        self._storage.cut(self._study._study_id, count, generations)
        self._study.sampler = sampler
        self._study.add_trials(more)
        return self._study


class _Storage(InMemoryStorage):
    def cut(self, study_id: int, count: int, generations: int) -> None:
        study = self._studies[study_id]
        for trial in study.trials[count:]:
            del self._trial_id_to_study_id_and_number[trial._trial_id]
        del study.trials[count:]
        study.best_trial_id = None  # no sampler asks for it
        study.system_attrs = {
            key: value
            for key, value in study.system_attrs.items()
            if key.startswith(PARENTS) and int(key.removeprefix(PARENTS)) <= generations
        }
        self._max_trial_id = count - 1
        self._prev_waiting_trial_number[study_id] = 0
