"""The ledger that a driver writes: of a sweep that begins, or of one that goes on with the data and the code it began with."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

from corpora.errors import InputError, Problem
from corpora.files import write_atomically
from sweeps.code_hash import code_hash
from sweeps.config import SweepConfig
from sweeps.ledger import Ledger
from sweeps.preparation import Preparation
from sweeps.search import Searcher


def has_ledger(folder: Path) -> bool:
    """A driver that was killed while it prepared left none: the sweep begins anew, on what lies in store/."""
    return (folder / "ledger" / "events").is_dir()


def begin(config: SweepConfig, folder: Path, preparation: Preparation, now: float) -> Ledger:
    """A new sweep's: what it is stands in its first event, and in sweep.json for whoever looks into the folder."""
    content = _content(config)
    write_atomically(folder / "sweep.json", json.dumps(content, indent=1, ensure_ascii=False))
    sweep = {
        "sweep_id": uuid.uuid4().hex[:12],
        "name": config.name,
        "config": content,
        "attributes": _attributes(config, preparation),
        "places": _places(folder, preparation),
        "planned": Searcher(config).trials,
    }
    return Ledger.create(folder, sweep, now)


def go_on(
    config: SweepConfig, folder: Path, preparation: Preparation, now: float, allow_changed_code: bool, extends: bool
) -> Ledger:
    """`extends`: under a larger budget than the sweep began with."""
    ledger, attributes = Ledger.open(folder, write=True), _attributes(config, preparation)
    _same(ledger.state().sweep["attributes"], attributes, allow_changed_code)
    larger = {"config": _content(config), "planned": Searcher(config).trials} if extends else {}
    ledger.append("resumed", {"attributes": attributes, **larger}, now)
    return ledger


def _attributes(config: SweepConfig, preparation: Preparation) -> dict[str, Any]:
    return {"config": config.sha256, "code": code_hash(config.trainer), "data": preparation.hashes}


def _content(config: SweepConfig) -> dict[str, Any]:
    return config.model_dump(mode="json", by_alias=True)


def _places(folder: Path, preparation: Preparation) -> dict[str, Any]:
    """Where base+ and the splits lie, from the sweep's folder where they are inside it: the folder may move."""

    def shown(place: Path) -> str:
        return str(place.relative_to(folder)) if place.is_relative_to(folder) else str(place)

    splits = {split: [shown(place) for place in places] for split, places in preparation.splits.items()}
    return {"base": shown(preparation.base), "inline": shown(preparation.inline), "splits": splits}


def _same(recorded: dict[str, Any], now: dict[str, Any], allow_changed_code: bool) -> None:
    """A sweep goes on with the data it began with, and with its code unless told otherwise."""
    problems = []
    parts = [
        name
        for name in dict.fromkeys((*recorded["data"], *now["data"]))
        if recorded["data"].get(name) != now["data"].get(name)
    ]
    if parts:
        problems.append(Problem("--resume: data", f"{', '.join(parts)} differs from what the sweep began with: restore the corpora, or "
                                "start a new sweep"))  # fmt: skip
    if recorded["code"] != now["code"] and not allow_changed_code:
        problems.append(Problem("--resume: code", "differs from what the sweep began with: pass --allow-changed-code if the change "
                                "cannot alter what a trial computes"))  # fmt: skip
    if problems:
        raise InputError(problems)
