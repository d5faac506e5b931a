"""Trials of earlier sweeps that a search learns from before its first proposal (`search.warm_start`).

Read once from the ledgers of the sweeps that the YAML names and written into this sweep's
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

from corpora.errors import InputError, Problem, StockpotError
from corpora.files import write_atomically
from sweeps.config import SweepConfig
from sweeps.ledger import Ledger
from sweeps.ledger_state import Checkpoint, LedgerState, Report, Scores, Trial
from sweeps.preparation import Say
from sweeps.settings import newest_figures, own_steps

NAME = "warm-start.json"


def earlier_trials(config: SweepConfig, folder: Path, data: Mapping[str, str], say: Say) -> list[Trial]:
    """In the order of the YAML and of the earlier sweeps. `data`: this sweep's hashes by split."""
    path = Path(folder) / NAME
    if config.search.warm_start and not path.exists():
        found = [_read(config, Path(source), data, say) for source in config.search.warm_start]
        write_atomically(path, json.dumps([trial for trials in found for trial in trials], ensure_ascii=False))
    return [_trial(ordinal, one) for ordinal, one in enumerate(json.loads(path.read_text()))] if path.exists() else []


def check_sources(config: SweepConfig, folder: Path) -> None:
    """Says at once what `search.warm_start` names that is no sweep."""
    if (Path(folder) / NAME).exists():
        return
    problems = []
    for source in config.search.warm_start:
        try:
            Ledger.open(Path(source))
        except StockpotError as error:
            problems.append(Problem("search.warm_start", str(error)))
    if problems:
        raise InputError(problems)


def _read(config: SweepConfig, source: Path, data: Mapping[str, str], say: Say) -> list[dict[str, Any]]:
    state = Ledger.open(source).state()
    differs = _differs(config, state, data)
    if differs:
        say(f"warm start: nothing from {source}, its {' and '.join(differs)} differ from this sweep's")
        return []
    taken, left = [], Counter()
    for trial in state.trials.values():
        figures = newest_figures(trial)
        varied = config.space.locate(trial.params)
        if trial.status not in ("finished", "stopped"):
            left["not finished"] += 1
        elif varied is None:
            left["outside the space"] += 1
        elif trial.status == "finished" and any(f"dev/{one.metric}" not in figures for one in config.search.objectives):
            left["without the objectives"] += 1
        else:
            reports = {step: dict(trial.reports[step].metrics) for step in own_steps(trial)}
            status = "stopped" if trial.exploits else trial.status  # its setting was left behind there
            taken.append({"varied": varied, "params": trial.params, "status": status, "figures": dict(figures), "reports": reports})
    skipped = ", ".join(f"{count} {why}" for why, count in sorted(left.items()))
    say(f"warm start: {len(taken)} trials of {source}" + (f"; left out {skipped}" if skipped else ""))
    return taken


def _differs(config: SweepConfig, state: LedgerState, data: Mapping[str, str]) -> list[str]:
    """In what the earlier sweep's scores cannot be held against this one's."""
    theirs, own = state.sweep["config"], config.model_dump(mode="json", by_alias=True)
    differ = [part for part in ("student", "teacher") if theirs.get(part) != own[part]]
    if theirs.get("evaluation", {}).get("chunking") != own["evaluation"]["chunking"]:
        differ.append("evaluation.chunking")
    hashes = state.sweep["attributes"]["data"]
    return [*differ, *(f"{split} corpora" for split in ("train", "dev") if hashes.get(split) != data.get(split))]


def _trial(ordinal: int, one: Mapping[str, Any]) -> Trial:
    """As the searcher reads trials: params, what varies, reports, and the figures at its newest step."""
    trial = Trial(ordinal, f"earlier-{ordinal}", one["params"], one["varied"], 0.0, one["status"])
    trial.reports = {int(step): Report(metrics, 0.0, {}) for step, metrics in one["reports"].items()}
    if one["figures"]:
        scores = Scores("dev", one["figures"], None, 0.0, None)
        trial.checkpoints = {max(trial.reports, default=0): Checkpoint("", "", 0.0, (scores,))}
    return trial
