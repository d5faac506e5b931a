"""What the ledger's events mean: each kind, and how it folds into the state.

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

import struct
import sys
from collections.abc import Callable, Mapping
from typing import Any

from sweeps.comparison import without_places
from sweeps.ledger_state import (
    ENDS,
    NO_DRIVERS,
    Checkpoint,
    Exploited,
    LedgerState,
    Report,
    Scores,
    Trial,
    extended,
    trial_id,
)


UNFIT = (KeyError, TypeError, AttributeError, ValueError, struct.error)
"""What folding an event of the wrong form raises, before anything is changed."""


class Contradiction(Exception):
    """An event that says otherwise than the ledger."""


def check_form(event: Mapping[str, Any]) -> None:
    """Its kind is known; trials and steps are numbers: a text would be another step than the same number."""
    if event["kind"] not in _FOLDS:
        raise Contradiction(f"unknown kind of event {event['kind']!r}, a newer version's maybe; known: {', '.join(_FOLDS)}")
    for name in ("ordinal", "step"):
        if name in event and type(event[name]) is not int:
            raise TypeError(f"{name} is {event[name]!r}, a whole number is needed")


def fold(state: LedgerState, event: Mapping[str, Any]) -> bool:
    """Brings `state` up to date; False when it knew this. Raises Contradiction, changing nothing."""
    check_form(event)
    kind = event["kind"]
    new = _FOLDS[kind](state, event)
    if new and kind not in NO_DRIVERS:
        state.updated = max(state.updated, event["time"])
    return new


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
    before = next(reversed(state.trials.values()), None)
    params = _sharing(event["params"], before.params) if before else event["params"]
    state.trials[ordinal] = Trial(ordinal, name, params, event["varied"], event["time"])
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
    seconds = event.get("seconds") or {}
    trial.reports[step] = Report(event["metrics"], event["time"], seconds, event.get("system") or {})
    state.computed += sum(seconds.values())
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
    checkpoint = trial.checkpoints[step]
    if split in checkpoint.scores:
        return _known(
            f"{split} of trial {trial.ordinal} at step {step}", checkpoint.scores[split].figures, event["figures"]
        )
    checkpoint.add(_scores_of(event))
    state.computed += event.get("seconds") or 0.0
    return True


def _baseline(state: LedgerState, event: Mapping[str, Any]) -> bool:
    key = (event["name"], event["split"])
    if key in state.baselines:
        return _known(f"baseline {' on '.join(key)}", state.baselines[key].figures, event["figures"])
    state.baselines[key] = _scores_of(event)
    return True


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
        return _known(
            f"what trial {trial.ordinal} takes over at step {step}", (held.donor, held.params), (donor, event["params"])
        )
    _must_go_on(trial, f"a change at step {step}")
    if step != max(trial.reports, default=0):
        raise Contradiction(
            f"trial {trial.ordinal} changes at step {step}, and its last report is of {max(trial.reports, default=0)}"
        )
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


def _scores_of(event: Mapping[str, Any]) -> Scores:
    return Scores(event["split"], event["figures"], event.get("per_query"), event["time"], event.get("seconds"))


def _sharing(value: Any, like: Any) -> Any:
    """`value`, made of the parts of `like` that equal its own: the recipes of a sweep differ in a few fields."""
    if repr(value) == repr(like):
        return like
    if isinstance(value, dict) and isinstance(like, dict):
        return {sys.intern(name): _sharing(inner, like.get(name)) for name, inner in value.items()}
    return value


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
