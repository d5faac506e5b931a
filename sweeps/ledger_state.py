"""What the ledger's events mean: each kind, the state they fold into, and how two are compared.

Events and their payloads (`time` is added by the ledger):

    sweep       sweep_id, name, config, attributes {config, code, data: hashes, ...}, planned?: first and once
                (planned: trials that it proposes)
    resumed     attributes, config?, planned?: another driver goes on, maybe with a larger budget
    closed      status finished | interrupted | failed, reason
    proposed    ordinal, params (the full recipe), varied (the searched fields only)
    started     ordinal
    report      ordinal, step, metrics (inline metrics and losses), seconds? {part: seconds}, system? {what: number}
    checkpoint  ordinal, step, folder (from the sweep's folder), sha256 (of the weights)
    removed     ordinal, step, reason: the checkpoint's files are gone, its scores stay (sweeps/gc.py)
    scores      ordinal, step, split, figures, per_query (parquet, from the sweep's folder), seconds?
    retried     ordinal, reason: its worker died, it goes on from its newest checkpoint
    exploited   ordinal, step, donor {ordinal, step, sha256}, params, varied: after its report of `step` the trial goes on
                from the donor's checkpoint, under these params (population based training)
    ended       ordinal, status finished | stopped (pruned) | failed, reason
    baseline    name, split, figures, per_query
    (figures are named by the ledger's metric names: `dev/context/Answer@10`)
    soup        what (candidate, verdict, shipped, ...), key, and whatever describes it
    opening     split, by: the test split was opened

`step` counts optimiser steps. Scores may arrive after the end of their trial; reports and
checkpoints may not.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sweeps.numbers import NOTHING, Numbers

ENDS = ("finished", "stopped", "failed")
NOT_COMPARED = {"time", "seconds", "system", "folder", "per_query", "trial_id", "sweep_id", "run_id", "host", "reason"}

NO_DRIVERS = ("removed", "opening")
"""Kinds of events that say nothing of how long a driver worked."""
UNTRAINED = "untrained student"
"""The baseline that constraints compare with: base+ as it is."""


def trial_id(sweep_id: str, ordinal: int) -> str:
    """12 hexadecimal digits: the same trial of the same sweep, whoever asks."""
    return hashlib.sha256(f"{sweep_id}/{ordinal}".encode()).hexdigest()[:12]


class Contradiction(Exception):
    """An event that says otherwise than the ledger."""


class Report(NamedTuple):
    metrics: Mapping[str, float]
    time: float
    seconds: Mapping[str, float]
    system: Mapping[str, float] = NOTHING  # what its worker took: trainables/usage.py


class Scores(NamedTuple):
    figures: Mapping[str, float]
    per_query: str | None
    time: float
    seconds: float | None


@dataclass(slots=True)
class Checkpoint:
    folder: str
    sha256: str
    time: float
    scores: dict[str, Scores] = field(default_factory=dict)  # by split
    removed: str = ""  # why its files are gone


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


def fold(state: LedgerState, event: Mapping[str, Any]) -> bool:
    """Brings `state` up to date; False when it knew this. Raises Contradiction, changing nothing."""
    kind = event["kind"]
    if kind not in _FOLDS:
        raise Contradiction(f"unknown kind of event {kind!r}; known: {', '.join(_FOLDS)}")
    new = _FOLDS[kind](state, event)
    if new and kind not in NO_DRIVERS:
        state.updated = max(state.updated, event["time"])
    return new


def comparable(state: LedgerState) -> dict[str, Any]:
    """The state without ids, times, hosts, folders and reasons: equal for two runs of the same deterministic sweep."""
    return {
        "config": state.sweep["attributes"].get("config"),
        "trials": {
            ordinal: {
                "params": trial.params,
                "varied": trial.varied,
                "status": trial.status,
                "reports": {step: trial.reports[step].metrics for step in sorted(trial.reports)},
                "checkpoints": {
                    step: {"sha256": checkpoint.sha256, "figures": {s: v.figures for s, v in checkpoint.scores.items()}}
                    for step, checkpoint in sorted(trial.checkpoints.items())
                },
                "exploits": {step: [one.donor, one.varied] for step, one in sorted(trial.exploits.items())},
            }
            for ordinal, trial in sorted(state.trials.items())
        },
        "baselines": {f"{split}/{name}": scores.figures for (name, split), scores in sorted(state.baselines.items())},
        "soup": {"/".join(key): without_places(payload) for key, payload in sorted(state.soup.items())},
    }


def without_places(value: Any) -> Any:
    """Payloads without what differs between two equal runs: ids, times, folders."""
    if isinstance(value, Mapping):
        return {key: without_places(inner) for key, inner in value.items() if key not in NOT_COMPARED}
    return [without_places(inner) for inner in value] if isinstance(value, list) else value


def _sweep(state: LedgerState, event: Mapping[str, Any]) -> bool:
    if state.sweep:
        return _known("the sweep", without_places(state.sweep), without_places(event))
    if not {"sweep_id", "name", "config", "attributes"} <= set(event):
        raise Contradiction("a sweep event needs sweep_id, name, config and attributes")
    state.sweep = dict(event)
    state.begin(event, state.updated)
    return True


def _resumed(state: LedgerState, event: Mapping[str, Any]) -> bool:
    state.resumed.append(dict(event))
    state.status, state.reason = "running", ""
    state.sweep = extended(state.sweep, event)
    state.begin(event, state.updated)
    return True


def _closed(state: LedgerState, event: Mapping[str, Any]) -> bool:
    state.status, state.reason = event["status"], event.get("reason", "")
    state.end(event["time"])
    return True


def _proposed(state: LedgerState, event: Mapping[str, Any]) -> bool:
    ordinal = event["ordinal"]
    if ordinal in state.trials:
        return _known(f"trial {ordinal}", state.trials[ordinal].params, event["params"])
    name = trial_id(state.sweep["sweep_id"], ordinal)
    state.trials[ordinal] = Trial(ordinal, name, event["params"], event["varied"], event["time"])
    return True


def _started(state: LedgerState, event: Mapping[str, Any]) -> bool:
    trial = _trial(state, event)
    if trial.status == "running":
        return False
    if trial.has_ended:
        raise Contradiction(f"trial {trial.ordinal} is {trial.status}: it cannot start")
    trial.status = "running"
    trial.started = event["time"] if trial.started is None else trial.started
    return True


def _report(state: LedgerState, event: Mapping[str, Any]) -> bool:
    trial, step = _trial(state, event), event["step"]
    if step in trial.reports:
        return _known(f"trial {trial.ordinal} at step {step}", trial.reports[step].metrics, event["metrics"])
    _must_go_on(trial, f"a report of step {step}")
    seconds, system = (Numbers(event[what]) if event.get(what) else NOTHING for what in ("seconds", "system"))
    trial.reports[step] = Report(Numbers(event["metrics"]), event["time"], seconds, system)
    return True


def _checkpoint(state: LedgerState, event: Mapping[str, Any]) -> bool:
    trial, step = _trial(state, event), event["step"]
    if step in trial.checkpoints:
        where = f"the checkpoint of trial {trial.ordinal} at step {step}"
        return _known(where, trial.checkpoints[step].sha256, event["sha256"])
    _must_go_on(trial, f"a checkpoint of step {step}")
    trial.checkpoints[step] = Checkpoint(event["folder"], event["sha256"], event["time"])
    return True


def _removed(state: LedgerState, event: Mapping[str, Any]) -> bool:
    trial, step = _trial(state, event), event["step"]
    if step not in trial.checkpoints:
        raise Contradiction(f"step {step} of trial {trial.ordinal} is removed, which has no such checkpoint")
    if trial.checkpoints[step].removed:
        return False
    if not trial.has_ended:
        raise Contradiction(f"trial {trial.ordinal} is {trial.status}: it may need its checkpoint of step {step}")
    trial.checkpoints[step].removed = event["reason"]
    return True


def _scores(state: LedgerState, event: Mapping[str, Any]) -> bool:
    trial, step, split = _trial(state, event), event["step"], event["split"]
    if step not in trial.checkpoints:
        raise Contradiction(f"scores for step {step} of trial {trial.ordinal}, which has no such checkpoint")
    return _add_scores(trial.checkpoints[step].scores, split, event, f"{split} of trial {trial.ordinal} at step {step}")


def _baseline(state: LedgerState, event: Mapping[str, Any]) -> bool:
    key = (event["name"], event["split"])
    return _add_scores(state.baselines, key, event, f"baseline {' on '.join(key)}")


def _retried(state: LedgerState, event: Mapping[str, Any]) -> bool:
    trial = _trial(state, event)
    _must_go_on(trial, "a retry")
    trial.retries.append(event["reason"])
    trial.retried.append(event["time"])
    trial.status = "proposed"
    return True


def _exploited(state: LedgerState, event: Mapping[str, Any]) -> bool:
    trial, step, donor = _trial(state, event), event["step"], event["donor"]
    if step in trial.exploits:
        held = trial.exploits[step]
        return _known(f"what trial {trial.ordinal} takes over at step {step}", (held.donor, held.params), (donor, event["params"]))
    _must_go_on(trial, f"a change at step {step}")
    if step != max(trial.reports, default=0):
        raise Contradiction(f"trial {trial.ordinal} changes at step {step}, and its last report is of {max(trial.reports, default=0)}")
    given = state.trials[donor["ordinal"]].checkpoints[donor["step"]].sha256
    _known(f"the checkpoint of trial {donor['ordinal']} at step {donor['step']}", given, donor["sha256"])
    trial.exploits[step] = Exploited(donor, event["params"], event["varied"], event["time"])
    return True


def _ended(state: LedgerState, event: Mapping[str, Any]) -> bool:
    trial = _trial(state, event)
    if event["status"] not in ENDS:
        raise Contradiction(f"a trial ends {', '.join(ENDS)}, not {event['status']!r}")
    if trial.has_ended:
        return _known(f"the end of trial {trial.ordinal}", trial.status, event["status"])
    trial.status, trial.reason, trial.ended = event["status"], event.get("reason", ""), event["time"]
    return True


def _soup(state: LedgerState, event: Mapping[str, Any]) -> bool:
    key = (event["what"], event["key"])
    if key in state.soup:
        return _known(f"soup {' '.join(key)}", without_places(state.soup[key]), without_places(event))
    state.soup[key] = dict(event)
    return True


def _opening(state: LedgerState, event: Mapping[str, Any]) -> bool:
    state.openings.append(dict(event))
    return True


def extended(sweep: dict[str, Any], resumed: Mapping[str, Any]) -> dict[str, Any]:
    """The sweep as it goes on: under another config, and more planned trials, where its budget was raised."""
    if "config" not in resumed:
        return sweep
    attributes = {**sweep["attributes"], "config": resumed["attributes"]["config"]}
    return {**sweep, "config": resumed["config"], "planned": resumed["planned"], "attributes": attributes}


def _add_scores(held: dict[Any, Scores], key: Any, event: Mapping[str, Any], where: str) -> bool:
    if key in held:
        return _known(where, held[key].figures, event["figures"])
    held[key] = Scores(Numbers(event["figures"]), event.get("per_query"), event["time"], event.get("seconds"))
    return True


def _trial(state: LedgerState, event: Mapping[str, Any]) -> Trial:
    try:
        return state.trials[event["ordinal"]]
    except KeyError:
        raise Contradiction(f"{event['kind']} of trial {event.get('ordinal')}, which was never proposed") from None


def _must_go_on(trial: Trial, what: str) -> None:
    if trial.has_ended:
        raise Contradiction(f"{what} of trial {trial.ordinal}, which is {trial.status} already")


def _known(what: str, held: Any, given: Any) -> bool:
    """False (nothing new) when both agree: what is reported twice must be equal."""
    if held != given:
        raise Contradiction(f"{what}: the ledger holds {held}, now came {given}")
    return False


_FOLDS: dict[str, Callable[[LedgerState, Mapping[str, Any]], bool]] = {
    "sweep": _sweep, "resumed": _resumed, "closed": _closed, "proposed": _proposed, "started": _started,
    "report": _report, "checkpoint": _checkpoint, "removed": _removed, "scores": _scores, "retried": _retried, "ended": _ended,
    "exploited": _exploited,
    "baseline": _baseline, "soup": _soup, "opening": _opening,
}  # fmt: skip
