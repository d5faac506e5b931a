"""Where the per-query values of a sweep's checkpoint lie: by ordinal and step, by folder, or a baseline by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from corpora.errors import InputError, Problem
from sweeps.ledger import Ledger
from sweeps.ledger_state import LedgerState, Scores
from sweeps.summary import best_checkpoint


@dataclass(frozen=True)
class Evaluated:
    """The parquet of `Results`, what to call it, and the sweep that holds it."""

    per_query: Path
    name: str
    sweep: Path


def evaluated(place: str, split: str) -> Evaluated | None:
    """`SWEEP_DIR:ORDINAL[@STEP]` (the trial's best step on dev by default), `SWEEP_DIR:BASELINE`, or a checkpoint's folder inside a
    sweep; None where `place` names nothing of a sweep."""
    folder, colon, which = place.rpartition(":")
    if colon and is_sweep(Path(folder)):
        state = Ledger.open(Path(folder)).state()
        name, scores = _named(state, place, which, split)
        return _found(Path(folder), name, scores, place, split)
    inside = Path(place).absolute()
    sweep = next((parent for parent in inside.parents if is_sweep(parent)), None)
    if sweep is None or not inside.is_dir():
        return None
    for trial in Ledger.open(sweep).state().trials.values():
        for step, checkpoint in trial.checkpoints.items():
            if sweep / checkpoint.folder == inside:
                return _found(sweep, f"trial {trial.ordinal}, step {step}", checkpoint.scores.get(split), place, split)
    raise InputError(Problem(place, f"is no checkpoint that the ledger of {sweep} knows"))


def _named(state: LedgerState, place: str, which: str, split: str) -> tuple[str, Scores | None]:
    ordinal, _, step = which.partition("@")
    if not ordinal.isdecimal():
        baselines = [name for name, of in state.baselines if of == split]
        if which not in baselines:
            raise InputError(Problem(place, f"names no trial (a number) and no baseline on {split}; there are "
                                     f"{', '.join(baselines) or 'none'}"))
        return which, state.baselines[which, split]
    if int(ordinal) not in state.trials:
        raise InputError(Problem(place, f"the sweep has no trial {ordinal}; it has 0 to {len(state.trials) - 1}"))
    trial = state.trials[int(ordinal)]
    held, best = trial.checkpoints, best_checkpoint(state, trial)
    known = [each for each in sorted(held) if split in held[each].scores]
    chosen = step or (str(best.step) if best else "")
    if not chosen.isdecimal() or int(chosen) not in known:
        which = f"checkpoint of step {chosen}{'' if step else ', its best on dev,'}" if chosen else "checkpoint"
        raise InputError(Problem(place, f"trial {ordinal} has no {which} that was evaluated on {split}; evaluated are "
                                 f"the steps {', '.join(map(str, known)) or 'none'}"))
    return f"trial {ordinal}, step {chosen}", held[int(chosen)].scores[split]


def _found(sweep: Path, name: str, scores: Scores | None, place: str, split: str) -> Evaluated:
    if scores is None or scores.per_query is None or not (sweep / scores.per_query).is_file():
        raise InputError(Problem(place, f"the sweep holds no per-query values of it on {split}: run "
                                 f"`stockpot evaluate CHECKPOINT --corpus DIR --out DIR` and compare that folder"))
    return Evaluated(sweep / scores.per_query, f"{name}, {split}", sweep)


def is_sweep(folder: Path) -> bool:
    return (folder / "ledger" / "events").is_dir()
