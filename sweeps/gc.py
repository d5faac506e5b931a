"""What of a sweep may be deleted, and why the rest is kept (DESIGN section 7).

Kept are checkpoints of trials that have not ended or are not evaluated yet, those that no other
dominates on dev, those that a soup may want (the best by each objective and by its merit),
ingredients of whatever shipped, and pinned ones. What remains of a deleted checkpoint is its
record: its scores, and an event that says why its files are gone. Nothing else is needed again:
optimiser states of trials that have ended, soups that did not ship, and what killed workers left.

Under `scheduler: {kind: pbt}` a trial may go on from another one's checkpoint of the same step: while such a sweep is
not finished these are kept, and those that stay for other reasons keep their states for ever, for it may be extended.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweeps.config import SweepConfig
from sweeps.constraints import keeper
from sweeps.ledger import Ledger
from sweeps.ledger_state import Checkpoint, LedgerState, Trial
from sweeps.pareto import front
from sweeps.soup.propose import Merit
from trainables import checkpoints

KEEP = 10
"""Checkpoints kept by each objective, and by the merit that weighs them."""
PIN = "pinned"
"""A file of this name in a checkpoint's folder keeps it."""
Key = tuple[int, int]  # ordinal, step


@dataclass(frozen=True)
class Item:
    """`folder` from the sweep's; `trial`: the (ordinal, step) of a checkpoint as such."""

    folder: str
    what: str
    bytes: int
    reason: str
    trial: Key | None = None

    def json(self) -> dict[str, Any]:
        return {"folder": self.folder, "what": self.what, "bytes": self.bytes, "reason": self.reason}


@dataclass(frozen=True)
class Survey:
    removable: list[Item]
    kept: list[Item]

    @property
    def bytes(self) -> int:
        return sum(item.bytes for item in self.removable)


def survey(folder: Path, state: LedgerState, keep: int = KEEP) -> Survey:
    """Looks only. `keep`: how many of the best checkpoints stay, by each objective and by merit."""
    reasons = _reasons(folder, state, keep)
    removable, kept = [], []
    for trial in state.trials.values():
        for step, checkpoint in sorted(trial.checkpoints.items()):
            place, reason = folder / checkpoint.folder, reasons.get((trial.ordinal, step))
            if not place.exists():
                if not checkpoint.removed:
                    removable.append(Item(checkpoint.folder, "checkpoint", 0, "its folder is gone: the ledger will say so", (trial.ordinal, step)))
            elif reason is None or checkpoint.removed:
                why = "its files were left when it was removed" if checkpoint.removed else _why_removable(trial)
                removable.append(Item(checkpoint.folder, "checkpoint", _size(place), why, (trial.ordinal, step)))
            else:
                state_folder = place / checkpoints.STATE
                needed = reason == PIN or step in _shared_steps(state, trial)
                spare = _size(state_folder) if trial.has_ended and not needed else 0
                kept.append(Item(checkpoint.folder, "checkpoint", _size(place) - spare, reason, (trial.ordinal, step)))
                if spare:
                    removable.append(Item(f"{checkpoint.folder}/{checkpoints.STATE}", "optimiser state", spare, "its trial has ended: nothing resumes from it"))
        if trial.has_ended:
            removable += _leftovers(folder, trial)
    for place, reason in _soups(folder, state):
        item = Item(str(place.relative_to(folder)), "soup", _size(place), reason or "did not ship")
        (kept if reason else removable).append(item)
    return Survey(removable, kept)


def collect(folder: Path, ledger: Ledger, found: Survey, clock: Callable[[], float]) -> None:
    """Deletes what `found` names. `ledger` is open for writing, under the lease; it learns first, so that nobody looks in vain."""
    events = [
        ("removed", {"ordinal": item.trial[0], "step": item.trial[1], "reason": f"gc: {item.reason}"})
        for item in found.removable if item.trial
    ]  # fmt: skip
    if events:
        ledger.append_all(events, clock())
    for item in found.removable:
        if (folder / item.folder).exists():
            shutil.rmtree(folder / item.folder)


def pin(folder: Path) -> None:
    checkpoints.manifest(folder)  # says so where it is no checkpoint
    (folder / PIN).touch()


def unpin(folder: Path) -> None:
    checkpoints.manifest(folder)
    (folder / PIN).unlink(missing_ok=True)


def _reasons(folder: Path, state: LedgerState, keep: int) -> dict[Key, str]:
    """Why checkpoints stay; those that may go are absent."""
    reasons: dict[Key, str] = {}
    models = [model for event in _shipped(state) for model in (event, event.get("rejected")) if model]
    ingredients = {one["folder"] for model in models for one in model["ingredients"]}
    eligible = _eligible(state)
    best = {**_best(state, eligible, keep), **{key: "on the Pareto front of dev" for key in _front(state, eligible)}}
    for trial in state.trials.values():
        for step, checkpoint in trial.checkpoints.items():
            key = (trial.ordinal, step)
            if not trial.has_ended:
                reasons[key] = f"its trial is {trial.status}"
            elif (folder / checkpoint.folder / PIN).exists():
                reasons[key] = PIN
            elif checkpoint.folder in ingredients:
                reasons[key] = "an ingredient of what shipped or was certified"
            elif key in best:
                reasons[key] = best[key]
            elif state.status != "finished" and step in _shared_steps(state, trial):
                reasons[key] = "other trials may go on from it"
            elif "dev" not in checkpoint.scores and trial.status != "failed":
                reasons[key] = "not evaluated yet: --resume does"
    return reasons


def _shared_steps(state: LedgerState, trial: Trial) -> range:
    """Steps from which other trials may go on, by population based training."""
    every = state.sweep["config"].get("scheduler", {}).get("perturb_every")
    return range(every, trial.params["steps"], every) if every else range(0)


def _why_removable(trial: Trial) -> str:
    return "its trial failed" if trial.status == "failed" else "neither among the best nor on the Pareto front"


def _eligible(state: LedgerState) -> dict[Key, Checkpoint]:
    """What a soup may be made of: scored on dev, of no failed trial, within the constraints."""
    broken = keeper(state)
    return {
        (trial.ordinal, step): checkpoint
        for trial in state.trials.values() if trial.status != "failed"
        for step, checkpoint in trial.checkpoints.items()
        if "dev" in checkpoint.scores and not checkpoint.removed and not broken(checkpoint.scores["dev"].figures)
    }  # fmt: skip


def _best(state: LedgerState, eligible: dict[Key, Checkpoint], keep: int) -> dict[Key, str]:
    objectives = SweepConfig.model_validate(state.sweep["config"]).soup_objectives
    names = [f"dev/{one.metric}" for one in objectives]
    held = {key: one.scores["dev"].figures for key, one in eligible.items() if all(name in one.scores["dev"].figures for name in names)}
    if not held:
        return {}
    merit = Merit(objectives, list(held.values()))
    found = {key: "among the best by the soup's merit" for key in sorted(held, key=lambda key: (-merit(held[key]), key))[:keep]}
    for objective, name in zip(objectives, names, strict=True):
        sign = -1 if objective.direction == "maximize" else 1
        for key in sorted(held, key=lambda key: (sign * held[key][name], key))[:keep]:
            found[key] = f"among the best by {objective.metric}"
    return found


def _front(state: LedgerState, eligible: dict[Key, Checkpoint]) -> list[Key]:
    objectives = SweepConfig.model_validate(state.sweep["config"]).search.objectives
    names, directions = [f"dev/{one.metric}" for one in objectives], [one.direction for one in objectives]
    points = {}
    for key, checkpoint in eligible.items():
        figures = checkpoint.scores["dev"].figures
        if all(name in figures for name in names):
            points[key] = [figures[name] for name in names]
    keys = list(points)
    return [keys[place] for place in front(list(points.values()), directions)]


def _shipped(state: LedgerState) -> list[dict[str, Any]]:
    return [event for (what, _), event in state.soup.items() if what == "shipped"]


def _soups(folder: Path, state: LedgerState) -> Iterator[tuple[Path, str]]:
    """Folders of soups that were built, and why they stay, if they do."""
    shipped = {event["folder"]: "shipped" for event in _shipped(state)}
    rejected = {event["rejected"]["folder"]: "the soup that the verdict was about" for event in _shipped(state) if event.get("rejected")}
    reasons = {**rejected, **shipped}
    for place in sorted((folder / "soup").glob("*/")) if (folder / "soup").is_dir() else ():
        name = str(place.relative_to(folder))
        yield place, reasons.get(name, "pinned" if (place / PIN).exists() else "")


def _leftovers(folder: Path, trial: Trial) -> Iterator[Item]:
    """What killed workers left half written, and checkpoints put aside as damaged."""
    place = folder / "trials" / trial.trial_id
    for found in [*sorted(place.glob("*.damaged")), *sorted(place.glob(".step-*"))]:
        yield Item(str(found.relative_to(folder)), "left over", _size(found), "no part of any checkpoint")


def _size(place: Path) -> int:
    return sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
