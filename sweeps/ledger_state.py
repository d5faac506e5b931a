"""The state that a ledger's events fold into (sweeps/folding.py): its trials with their reports, checkpoints and scores."""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from sweeps.numbers import Numbers, Record

ENDS = ("finished", "stopped", "failed")
NO_DRIVERS = ("removed", "opening")
"""Kinds of events that say nothing of how long a driver worked."""
UNTRAINED = "untrained student"
"""The baseline that constraints compare with: base+ as it is."""
NOTHING: Mapping[str, float] = MappingProxyType({})


def trial_id(sweep_id: str, ordinal: int) -> str:
    """12 hexadecimal digits: the same trial of the same sweep, whoever asks."""
    return hashlib.sha256(f"{sweep_id}/{ordinal}".encode()).hexdigest()[:12]


class Report(Record):
    """`system`: what its worker took (trainables/usage.py)."""

    __slots__ = ()

    def __init__(
        self,
        metrics: Mapping[str, float],
        time: float,
        seconds: Mapping[str, float],
        system: Mapping[str, float] = NOTHING,
    ):
        super().__init__(metrics, seconds, system, {"time": time})

    @property
    def metrics(self) -> Numbers:
        return self.group(0)

    @property
    def seconds(self) -> Numbers:
        return self.group(1)

    @property
    def system(self) -> Numbers:
        return self.group(2)

    @property
    def time(self) -> float:
        return self.group(3)["time"]


class Scores(Record):
    __slots__ = ("split",)

    def __init__(
        self, split: str, figures: Mapping[str, float], per_query: str | None, time: float, seconds: float | None
    ):
        super().__init__(
            figures, {"time": time}, NOTHING if seconds is None else {"seconds": seconds}, text=per_query or ""
        )
        self.split = sys.intern(split)

    @property
    def figures(self) -> Numbers:
        return self.group(0)

    @property
    def time(self) -> float:
        return self.group(1)["time"]

    @property
    def seconds(self) -> float | None:
        return self.group(2).get("seconds")

    @property
    def per_query(self) -> str | None:
        return self.text or None


class Checkpoint(Record):
    """`removed`: why its files are gone."""

    __slots__ = ("_name", "_parent", "_scores", "removed")

    def __init__(self, folder: str, sha256: str, time: float, scores: tuple[Scores, ...] = ()):
        super().__init__({"time": time}, text=sha256)
        parent, _, name = folder.rpartition("/")  # the one is the same in a whole trial, the other in every trial
        self._parent, self._name = sys.intern(parent), sys.intern(name)
        self._scores, self.removed = scores, ""

    @property
    def folder(self) -> str:
        return f"{self._parent}/{self._name}" if self._parent else self._name

    @property
    def sha256(self) -> str:
        return self.text

    @property
    def time(self) -> float:
        return self.group(0)["time"]

    @property
    def scores(self) -> dict[str, Scores]:
        """By split."""
        return {scores.split: scores for scores in self._scores}

    def add(self, scores: Scores) -> None:
        self._scores += (scores,)

    def _parts(self) -> tuple:
        return (*super()._parts(), self.folder, self._scores, self.removed)


class Exploited(NamedTuple):
    donor: Mapping[str, Any]  # ordinal, step, sha256
    params: Mapping[str, Any]
    varied: Mapping[str, Any]
    time: float


@dataclass(slots=True)
class Trial:
    """`params` and `varied` are what it began with: `params_at` and `varied_at` know what a checkpoint was trained under."""

    ordinal: int
    trial_id: str
    params: dict[str, Any]
    varied: dict[str, Any]
    proposed: float
    status: str = "proposed"  # proposed, running, finished, stopped, failed
    reports: dict[int, Report] = field(default_factory=dict)  # by step
    checkpoints: dict[int, Checkpoint] = field(default_factory=dict)  # by step
    reason: str = ""
    retries: list[str] = field(default_factory=list)  # why its worker was started again
    retried: list[float] = field(default_factory=list)  # and when
    started: float | None = None
    ended: float | None = None
    exploits: dict[int, Exploited] = field(default_factory=dict)  # by the step from which on they hold

    @property
    def has_ended(self) -> bool:
        return self.status in ENDS

    @property
    def own_until(self) -> float:
        """The last step that its first params alone led to."""
        return min(self.exploits, default=math.inf)

    def params_at(self, step: float) -> Mapping[str, Any]:
        """The params that led to `step`; to what comes next, with infinity."""
        newest = self.exploited_before(step)
        return self.params if newest is None else self.exploits[newest].params

    def varied_at(self, step: float) -> Mapping[str, Any]:
        newest = self.exploited_before(step)
        return self.varied if newest is None else self.exploits[newest].varied

    def exploited_before(self, step: float) -> int | None:
        """The step from which on the params hold that led to `step`, if they are not its first."""
        return max((since for since in self.exploits if since < step), default=None)

    def copy(self) -> Trial:
        """Which later events do not change; both share the reports. One that has ended is shared whole: all that still comes
        to it, scores say, comes in one piece, and copies of ten thousand trials are memory."""
        if self.has_ended:
            return self
        checkpoints = {step: copy(checkpoint) for step, checkpoint in self.checkpoints.items()}
        return replace(
            self, reports=dict(self.reports), checkpoints=checkpoints, retries=[*self.retries], retried=[*self.retried],
            exploits=dict(self.exploits),
        )  # fmt: skip


@dataclass
class Worked:
    """How long drivers have worked on the sweep: what nobody works at, after a kill say, is no part of its budget."""

    spent: float = 0.0  # seconds of the drivers that are gone
    begun: float | None = None  # when the one at work began

    def begin(self, event: Mapping[str, Any], updated: float) -> None:
        """A driver begins; one that was killed before worked until its last event."""
        self.end(updated)
        self.begun = event["time"]

    def end(self, time: float) -> None:
        if self.begun is not None:
            self.spent, self.begun = self.spent + max(0.0, time - self.begun), None

    def worked(self, now: float) -> float:
        """Seconds until `now`."""
        return self.spent + (max(0.0, now - self.begun) if self.begun is not None else 0.0)


@dataclass
class LedgerState(Worked):
    sweep: dict[str, Any] = field(default_factory=dict)  # the `sweep` event's payload
    status: str = "running"  # running, finished, interrupted, failed
    reason: str = ""
    resumed: list[dict[str, Any]] = field(default_factory=list)
    trials: dict[int, Trial] = field(default_factory=dict)  # by ordinal
    baselines: dict[tuple[str, str], Scores] = field(default_factory=dict)  # by (name, split)
    soup: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)  # by (what, key)
    openings: list[dict[str, Any]] = field(default_factory=list)
    updated: float = 0.0  # time of the driver's newest event
    computed: float = 0.0  # seconds of trials and their evaluations, baselines' left out

    def copy(self, ordinals: Iterable[int]) -> LedgerState:
        """Which later events do not change, but for what comes to ended trials; with these trials only."""
        return replace(
            self, resumed=[*self.resumed], trials={ordinal: self.trials[ordinal].copy() for ordinal in ordinals},
            baselines=dict(self.baselines), soup=dict(self.soup), openings=[*self.openings],
        )  # fmt: skip


def extended(sweep: dict[str, Any], resumed: Mapping[str, Any]) -> dict[str, Any]:
    """The sweep as it goes on: under another config, and more planned trials, where its budget was raised."""
    if "config" not in resumed:
        return sweep
    attributes = {**sweep["attributes"], "config": resumed["attributes"]["config"]}
    return {**sweep, "config": resumed["config"], "planned": resumed["planned"], "attributes": attributes}
