"""What a search learns from: each proposed setting with the outcome of its replicates.

Trials s N to s N + N - 1 are the N replicates of setting s: equal but for their `seed`. A
setting counts as failed when one of them failed or has a figure that is not finite, as
pruned when one was stopped early or went on from another trial's checkpoint, with what it reported
by then; else its figures are the means over them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from sweeps.ledger_state import Trial
from sweeps.search_config import Objective

Outcome = Literal["running", "finished", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class Setting:
    """`trials`: its replicates so far; `is_final`: all are there, and nothing that is learnt from them can change."""

    place: int
    trials: tuple[Trial, ...]
    is_final: bool

    @property
    def varied(self) -> dict:
        return self.trials[0].varied

    def outcome(self, objectives: Sequence[Objective]) -> Outcome:
        if not self.is_final:
            return "running"
        statuses = {trial.status for trial in self.trials}
        if "failed" in statuses:
            return "failed"
        if "stopped" in statuses or any(trial.exploits for trial in self.trials):
            return "stopped"
        return "finished" if self.values(objectives) else "failed"

    def values(self, objectives: Sequence[Objective]) -> list[float] | None:
        """The objectives at the newest checkpoints on dev; None where one is absent or not finite."""
        figures = self.figures()
        values = [figures.get(f"dev/{objective.metric}", math.nan) for objective in objectives]
        return values if all(map(math.isfinite, values)) else None

    def figures(self) -> dict[str, float]:
        """Means of the figures on dev that all replicates have at their newest checkpoint."""
        found = [newest_figures(trial) for trial in self.trials]
        return {name: fmean(one[name] for one in found) for name in found[0] if all(name in one for one in found)}

    def intermediate(self, metric: str) -> dict[int, float]:
        """Means of what the replicates reported, at the steps that all of them came to."""
        found = [{step: t.reports[step].metrics.get(metric, math.nan) for step in own_steps(t)} for t in self.trials]
        means = {step: fmean(one[step] for one in found) for step in found[0] if all(step in one for one in found)}
        return {step: value for step, value in sorted(means.items()) if math.isfinite(value)}

    def steps(self) -> int:
        """The budget it had: optimiser steps of all its replicates."""
        return sum(max(own_steps(trial), default=0) for trial in self.trials)


def settings_of(final: Sequence[Trial], pending: Sequence[Trial], replicates: int) -> list[Setting]:
    """In the order in which they were proposed. `final`: trials whose outcome is known and may be learnt from."""
    members: dict[int, list[tuple[Trial, bool]]] = {}
    for trials, known in ((final, True), (pending, False)):
        for trial in trials:
            members.setdefault(trial.ordinal // replicates, []).append((trial, known))
    settings = []
    for place, found in sorted(members.items()):
        found.sort(key=lambda pair: pair[0].ordinal)
        whole = len(found) == replicates and all(known for _, known in found)
        settings.append(Setting(place, tuple(trial for trial, _ in found), whole))
    return settings


def own_steps(trial: Trial) -> list[int]:
    """The steps of its reports that its first params alone led to."""
    return [step for step in trial.reports if step <= trial.own_until]


def newest_figures(trial: Trial) -> dict[str, float]:
    newest = max(trial.checkpoints, default=None)
    scores = None if newest is None else trial.checkpoints[newest].scores.get("dev")
    return scores.figures if scores else {}
