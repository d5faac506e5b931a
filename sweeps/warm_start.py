"""Trials of earlier sweeps that a search learns from before its first proposal (`search.warm_start`).

Read once from the ledgers, or the runs in MLflow, of the sweeps that the YAML names and written into this sweep's
folder, so that a resumed sweep proposes the same though an earlier one grew or is gone.
Only trials that would be a point of this space count, scored on the same dev corpora under
the same student, teacher and evaluation; the others are counted, by reason.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpora.errors import InputError, Problem
from corpora.files import write_atomically
from sweeps.config import SweepConfig
from sweeps.earlier_sweeps import LEARNT_FROM, Asked, EarlierTrial, earlier_sweep
from sweeps.folding import UNFIT
from sweeps.ledger_state import Checkpoint, Report, Scores, Trial
from sweeps.preparation import Say

NAME = "warm-start.json"


def earlier_trials(config: SweepConfig, folder: Path, data: Mapping[str, str], say: Say) -> list[Trial]:
    """In the order of the YAML and of the earlier sweeps. `data`: this sweep's hashes by split."""
    path = Path(folder) / NAME
    if config.search.warm_start and not path.exists():
        write_atomically(path, json.dumps(read_sources(config, data, say), ensure_ascii=False))
    return _kept(path) if path.exists() else []


def _kept(path: Path) -> list[Trial]:
    try:
        held = json.loads(path.read_bytes())
        if not isinstance(held, list):
            raise ValueError("it holds no list")
        return [_trial(ordinal, one) for ordinal, one in enumerate(held)]
    except UNFIT as error:
        raise InputError(Problem(str(path), f"is damaged ({error!r}): what this sweep learnt at its start is not known any more, so it "
                                 "cannot go on as it began; begin another with the same YAML")) from None  # fmt: skip


def check_sources(config: SweepConfig, folder: Path) -> None:
    """Says at once what `search.warm_start` names that is no sweep."""
    if (Path(folder) / NAME).exists():
        return
    problems = []
    for source in config.search.warm_start:
        try:
            earlier_sweep(source, config)
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)


def read_sources(config: SweepConfig, data: Mapping[str, str], say: Say) -> list[dict[str, Any]]:
    """What is learnt of each trial; `say` hears how many of each sweep, and why others are left out."""
    return [trial for source in config.search.warm_start for trial in _read(config, source, data, say)]


def _read(config: SweepConfig, source: str, data: Mapping[str, str], say: Say) -> list[dict[str, Any]]:
    earlier, asked = earlier_sweep(source, config), Asked.by(config)
    differs = _differs(config, earlier.content(), data)
    if differs:
        say(f"warm start: nothing from {source}, its {' and '.join(differs)} differ from this sweep's")
        return []
    taken, left = [], Counter()
    for trial in earlier.trials(asked):
        varied = config.space.locate(trial.params or {})
        if reason := _left_out(config, trial, varied):
            left[reason] += 1
        else:
            taken.append({"varied": varied, **trial._asdict()})
    skipped = ", ".join(f"{count} {why}" for why, count in sorted(left.items()))
    say(f"warm start: {len(taken)} trials of {source}" + (f"; left out {skipped}" if skipped else ""))
    return taken


def _left_out(config: SweepConfig, trial: EarlierTrial, varied: Mapping[str, Any] | None) -> str:
    """Why nothing can be learnt from it; empty where something can."""
    if trial.status not in LEARNT_FROM:
        return "not finished"
    if trial.params is None:
        return "whose params MLflow holds as text only (`stockpot sync` of that sweep adds them)"
    if varied is None:
        return "outside the space"
    lacks = any(f"dev/{one.metric}" not in trial.figures for one in config.search.objectives)
    return "without the objectives" if trial.status == "finished" and lacks else ""


def _differs(config: SweepConfig, sweep: Mapping[str, Any], data: Mapping[str, str]) -> list[str]:
    """In what the earlier sweep's scores cannot be held against this one's."""
    theirs, own = sweep["config"], config.model_dump(mode="json", by_alias=True)
    differ = [part for part in ("student", "teacher") if theirs.get(part) != own[part]]
    if theirs.get("evaluation", {}).get("chunking") != own["evaluation"]["chunking"]:
        differ.append("evaluation.chunking")
    hashes = sweep["attributes"]["data"]
    return [*differ, *(f"{split} corpora" for split in ("train", "dev") if hashes.get(split) != data.get(split))]


def _trial(ordinal: int, one: Mapping[str, Any]) -> Trial:
    """As the searcher reads trials: params, what varies, reports, and the figures at its newest step."""
    trial = Trial(ordinal, f"earlier-{ordinal}", one["params"], one["varied"], 0.0, one["status"])
    trial.reports = {int(step): Report(metrics, 0.0, {}) for step, metrics in one["reports"].items()}
    if one["figures"]:
        scores = Scores("dev", one["figures"], None, 0.0, None)
        trial.checkpoints = {max(trial.reports, default=0): Checkpoint("", "", 0.0, (scores,))}
    return trial
