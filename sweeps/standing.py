"""How a sweep stands, in little: one small record a trial, folded from the ledger's events.

This is what `status` and the live view show. It forgets the single reports and figures, so
that ten thousand trials fit a snapshot (sweeps/snapshot.py) which is read in a moment. Each
event is folded once: the ledger writes down nothing twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sweeps.ledger_state import ENDS, NO_DRIVERS, UNTRAINED, Worked, extended
from sweeps.pareto import front, not_dominated

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
    front: list[tuple[int, tuple[float, ...]]] = field(default_factory=list)  # (step, `Standing.axes`), none dominated
    before: list[tuple[int, dict[str, Any]]] = field(default_factory=list)  # (step, what `varied` was until then)

    @property
    def has_ended(self) -> bool:
        return self.status in ENDS

    def varied_at(self, step: float) -> dict[str, Any]:
        """What led to `step`; `varied` is what leads on."""
        return next((varied for until, varied in self.before if step <= until), self.varied)


class Point(NamedTuple):
    """A checkpoint by its values on `Standing.axes`, the objectives first."""

    trial: TrialStanding
    step: int
    values: tuple[float, ...]


@dataclass
class Standing(Worked):
    sweep: dict[str, Any] = field(default_factory=dict)
    status: str = "running"
    reason: str = ""
    updated: float = 0.0
    trials: dict[int, TrialStanding] = field(default_factory=dict)
    untrained: dict[str, float] = field(default_factory=dict)  # figures on dev of what constraints compare with
    shipped: dict[str, Any] | None = None

    @property
    def planned(self) -> int:
        """Trials that the sweep proposes: fewer than asked for where its space has fewer points."""
        return self.sweep.get("planned") or self.sweep["config"].get("search", {}).get("trials") or len(self.trials)

    @property
    def objectives(self) -> list[tuple[str, str]]:
        """(figure, direction) of each objective of the search."""
        return [(one["metric"], one["direction"]) for one in self.sweep["config"].get("search", {}).get("objectives") or ()]

    @property
    def metric(self) -> str:
        """What the scheduler stops trials by."""
        return self.sweep["config"].get("scheduler", {}).get("metric", "inline/Answer@10")

    def counts(self) -> Counter[str]:
        return Counter(trial.status for trial in self.trials.values())

    @property
    def axes(self) -> list[tuple[str, str]]:
        """Objectives and constrained figures, each with its good direction: a point that these dominate is never best."""
        return [*self.objectives, *((one["metric"], "minimize" if one.get("at_most") is not None else "maximize") for one in self._constraints)]

    @property
    def _constraints(self) -> list[dict[str, Any]]:
        return list(self.sweep["config"].get("search", {}).get("constraints") or ())

    def points(self) -> list[Point]:
        """The best checkpoints of each trial, those that break a constraint and failed trials' left out."""
        found = [Point(trial, *one) for trial in self.trials.values() if trial.status != "failed" for one in trial.front]
        if not self._constraints:
            return found
        from sweeps.constraints import broken
        from sweeps.search_config import Constraint

        names = [f"dev/{metric}" for metric, _ in self.axes]
        constraints = [Constraint.model_validate(one) for one in self._constraints]
        return [one for one in found if not broken(constraints, dict(zip(names, one.values, strict=True)), self.untrained)]

    def best(self, objective: int) -> Point | None:
        """By one objective; of equals the lowest ordinal, then the earliest step."""
        sign = -1 if self.objectives[objective][1] == "maximize" else 1
        return min(self.points(), key=lambda one: (sign * one.values[objective], one.trial.ordinal, one.step), default=None)

    def front(self) -> list[Point]:
        """The checkpoints that no other one dominates in the objectives."""
        found, directions = self.points(), [direction for _, direction in self.objectives]
        return [found[place] for place in front([one.values[: len(directions)] for one in found], directions)]

    def fold(self, event: Mapping[str, Any]) -> None:
        """Brings this up to date by an event that the ledger has accepted."""
        fold = getattr(self, f"_{event['kind']}", None)
        if fold:
            fold(event)
        if event["kind"] not in NO_DRIVERS:
            self.updated = max(self.updated, event["time"])

    def _sweep(self, event: Mapping[str, Any]) -> None:
        self.sweep = dict(event)
        self.begin(event, self.updated)

    def _resumed(self, event: Mapping[str, Any]) -> None:
        self.status, self.reason = "running", ""
        self.sweep = extended(self.sweep, event)
        self.begin(event, self.updated)

    def _closed(self, event: Mapping[str, Any]) -> None:
        self.status, self.reason = event["status"], event.get("reason", "")
        self.end(event["time"])

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

    def _report(self, event: Mapping[str, Any]) -> None:
        trial, value = self.trials[event["ordinal"]], event["metrics"].get(self.metric)
        if event["step"] >= trial.step:
            trial.step, trial.metric = event["step"], value
        if value is not None:
            trial.highest = value if trial.highest is None else max(trial.highest, value)

    def _exploited(self, event: Mapping[str, Any]) -> None:
        trial = self.trials[event["ordinal"]]
        trial.before.append((event["step"], trial.varied))
        trial.varied = event["varied"]

    def _checkpoint(self, event: Mapping[str, Any]) -> None:
        self.trials[event["ordinal"]].checkpoints += 1

    def _scores(self, event: Mapping[str, Any]) -> None:
        if event["split"] != "dev":
            return
        trial = self.trials[event["ordinal"]]
        trial.evaluated += 1
        values = [event["figures"].get(f"dev/{metric}") for metric, _ in self.axes]
        if values and None not in values:
            points = sorted([*trial.front, (event["step"], tuple(values))])
            trial.front = not_dominated(points, [direction for _, direction in self.axes])

    def _baseline(self, event: Mapping[str, Any]) -> None:
        if (event["name"], event["split"]) == (UNTRAINED, "dev"):
            self.untrained = dict(event["figures"])

    def _soup(self, event: Mapping[str, Any]) -> None:
        if event["what"] == "shipped" and (self.shipped is None or event["time"] >= self.shipped["time"]):
            self.shipped = dict(event)
