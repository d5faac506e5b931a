"""How a sweep stands, in little: one small record a trial, folded from the ledger's events.

This is what `status` and the live view show. It forgets the single reports and figures, so
that ten thousand trials fit a snapshot (sweeps/snapshot.py) which is read in a moment. Each
event is folded once: the ledger writes down nothing twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sweeps.ledger_state import ENDS
from sweeps.pareto import front, not_dominated

SHOWN = ("context/Document@1", "context/Answer@10", "q2c/nDCG@10", "q2d/nDCG@10", "chunk-size/drop")
"""Figures that are kept of a trial's best checkpoint, beside the objectives."""


@dataclass(slots=True)
class TrialStanding:
    ordinal: int
    varied: dict[str, Any]
    steps: int  # of its recipe
    status: str = "proposed"
    reason: str = ""
    retries: int = 0
    started: float | None = None
    ended: float | None = None
    step: int = 0  # of its newest report
    metric: float | None = None  # the scheduler's, in the newest report
    highest: float | None = None  # the same, in the best one
    checkpoints: int = 0
    evaluated: int = 0  # checkpoints with scores on dev
    best: tuple[int, dict[str, float]] | None = None  # (step, figures) of the best by the first objective
    front: list[tuple[int, tuple[float, ...]]] = field(default_factory=list)  # (step, objectives), none dominated

    @property
    def has_ended(self) -> bool:
        return self.status in ENDS


@dataclass
class Standing:
    sweep: dict[str, Any] = field(default_factory=dict)
    status: str = "running"
    reason: str = ""
    begun: float = 0.0  # when the newest driver began
    updated: float = 0.0
    trials: dict[int, TrialStanding] = field(default_factory=dict)
    baselines: dict[str, dict[str, float]] = field(default_factory=dict)  # on dev, the shown figures
    shipped: dict[str, Any] | None = None
    ended: list[float] = field(default_factory=list)  # when the last trials ended: the throughput

    @property
    def planned(self) -> int:
        """Trials that the sweep proposes: fewer than asked for where its space has fewer points."""
        return self.sweep.get("planned") or self.sweep["config"].get("search", {}).get("trials") or len(self.trials)

    @property
    def objectives(self) -> list[tuple[str, str]]:
        """(figure, direction), the first one orders trials where one number has to."""
        return [(one["metric"], one["direction"]) for one in self.sweep["config"].get("search", {}).get("objectives") or ()]

    @property
    def metric(self) -> str:
        """What the scheduler stops trials by."""
        return self.sweep["config"].get("scheduler", {}).get("metric", "inline/Answer@10")

    def counts(self) -> Counter[str]:
        return Counter(trial.status for trial in self.trials.values())

    def ranked(self) -> list[TrialStanding]:
        """Trials that have scores, best first by the first objective; of equals the lower ordinal."""
        if not self.objectives:
            return []
        figure, direction = self.objectives[0]
        sign = -1 if direction == "maximize" else 1
        scored = [trial for trial in self.trials.values() if trial.best]
        return sorted(scored, key=lambda trial: (sign * trial.best[1][figure], trial.ordinal))

    def front(self) -> list[tuple[TrialStanding, int, tuple[float, ...]]]:
        """(trial, step, objectives) of the checkpoints that no other one dominates, failed trials' left out."""
        points = [(trial, *point) for trial in self.trials.values() if trial.status != "failed" for point in trial.front]
        directions = [direction for _, direction in self.objectives]
        return [points[place] for place in front([values for _, _, values in points], directions)]

    def fold(self, event: Mapping[str, Any]) -> None:
        """Brings this up to date by an event that the ledger has accepted."""
        fold = getattr(self, f"_{event['kind']}", None)
        if fold:
            fold(event)
        self.updated = max(self.updated, event["time"])

    def _sweep(self, event: Mapping[str, Any]) -> None:
        self.sweep, self.begun = dict(event), event["time"]

    def _resumed(self, event: Mapping[str, Any]) -> None:
        self.status, self.reason, self.begun = "running", "", event["time"]
        self.sweep |= {name: event[name] for name in ("config", "planned") if name in event}

    def _closed(self, event: Mapping[str, Any]) -> None:
        self.status, self.reason = event["status"], event.get("reason", "")

    def _proposed(self, event: Mapping[str, Any]) -> None:
        self.trials[event["ordinal"]] = TrialStanding(event["ordinal"], event["varied"], event["params"].get("steps", 0))

    def _started(self, event: Mapping[str, Any]) -> None:
        trial = self.trials[event["ordinal"]]
        trial.status = "running"
        trial.started = event["time"] if trial.started is None else trial.started

    def _retried(self, event: Mapping[str, Any]) -> None:
        trial = self.trials[event["ordinal"]]
        trial.status, trial.retries = "proposed", trial.retries + 1

    def _ended(self, event: Mapping[str, Any]) -> None:
        trial = self.trials[event["ordinal"]]
        trial.status, trial.reason, trial.ended = event["status"], event.get("reason", ""), event["time"]
        self.ended = [*self.ended[-19:], event["time"]]

    def _report(self, event: Mapping[str, Any]) -> None:
        trial, value = self.trials[event["ordinal"]], event["metrics"].get(self.metric)
        if event["step"] >= trial.step:
            trial.step, trial.metric = event["step"], value
        if value is not None:
            trial.highest = value if trial.highest is None else max(trial.highest, value)

    def _checkpoint(self, event: Mapping[str, Any]) -> None:
        self.trials[event["ordinal"]].checkpoints += 1

    def _scores(self, event: Mapping[str, Any]) -> None:
        if event["split"] != "dev":
            return
        trial, step, figures = self.trials[event["ordinal"]], event["step"], event["figures"]
        trial.evaluated += 1
        values = [figures.get(f"dev/{metric}") for metric, _ in self.objectives]
        if not values or values[0] is None:
            return
        held = (trial.best[1][self.objectives[0][0]], trial.best[0]) if trial.best else None
        sign = -1 if self.objectives[0][1] == "maximize" else 1
        if held is None or (sign * values[0], step) < (sign * held[0], held[1]):
            trial.best = (step, self._shown(figures))
        if None not in values:
            directions = [direction for _, direction in self.objectives]
            trial.front = not_dominated(sorted([*trial.front, (step, tuple(values))]), directions)

    def _baseline(self, event: Mapping[str, Any]) -> None:
        if event["split"] == "dev":
            self.baselines[event["name"]] = self._shown(event["figures"])

    def _soup(self, event: Mapping[str, Any]) -> None:
        if event["what"] == "shipped" and (self.shipped is None or event["time"] >= self.shipped["time"]):
            self.shipped = dict(event)

    def _shown(self, figures: Mapping[str, float]) -> dict[str, float]:
        names = dict.fromkeys((*SHOWN, *(metric for metric, _ in self.objectives)))
        return {name: figures[f"dev/{name}"] for name in names if f"dev/{name}" in figures}
