"""A sweep for scripts and notebooks: its trials, checkpoints and per-query scores as pandas DataFrames (docs/api.md)."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError, Problem
from sweeps.ledger import Ledger
from sweeps.ledger_state import Checkpoint, LedgerState, Scores, Trial
from sweeps.status import sweep_status, trial_status

if TYPE_CHECKING:
    import pandas as pd

    from trainables.student import StudentEncoder


class Sweep:
    """The sweep in `folder`. Every attribute is read from the ledger anew, so a running sweep's grow.

    Metrics have the ledger's names (`dev/context/Answer@10`); what is not known yet is NaN or absent.
    """

    def __init__(self, folder: str | PathLike[str]):
        if not isinstance(folder, (str, PathLike)):
            raise InputError(Problem("stockpot.open", f"takes the folder of a sweep, found {folder!r}"))
        self.folder = Path(folder).absolute()
        self._ledger = Ledger.open(self.folder)

    def __repr__(self) -> str:
        state = self._state
        return f"<sweep {state.sweep['name']!r}: {self.status}, {len(state.trials)} trials, {self.folder}>"

    @property
    def _state(self) -> LedgerState:
        return self._ledger.state()

    @property
    def status(self) -> str:
        """running, finished, interrupted (so too where its driver was killed) or failed."""
        return sweep_status(self.folder, self._state)

    @property
    def config(self) -> dict[str, Any]:
        """The sweep's YAML as it was read, with every default."""
        return copy.deepcopy(self._state.sweep["config"])

    @property
    def trials(self) -> pd.DataFrame:
        """ordinal (index), trial_id, status, reason, step (of the best checkpoint on dev by the first objective), its figures on every split,
        and what led to it: varied (a dict) and params.*."""
        from sweeps.summary import best_checkpoint, flat

        state, status, rows = self._state, self.status, []
        for ordinal, trial in sorted(state.trials.items()):
            best = best_checkpoint(state, trial)
            step = best.step if best else math.inf
            about = {"ordinal": ordinal, "trial_id": trial.trial_id, "status": trial_status(trial, status), "reason": trial.reason,
                     "varied": copy.deepcopy(trial.varied_at(step))}  # fmt: skip
            params = {f"params.{name}": value for name, value in flat(trial.params_at(step))}
            rows.append(about | params | {"step": best.step if best else None} | _figures(trial.checkpoints[best.step].scores if best else {}))
        return _frame(rows, ["ordinal", "trial_id", "status", "reason", "varied", "step"]).set_index("ordinal")

    @property
    def checkpoints(self) -> pd.DataFrame:
        """(ordinal, step) (index), folder (absolute), sha256 and every figure, by its split: `dev/context/Answer@10`."""
        rows = [
            {"ordinal": ordinal, "step": step, "folder": str(self.folder / one.folder), "sha256": one.sha256}
            | _figures(one.scores)
            for ordinal, trial in sorted(self._state.trials.items())
            for step, one in sorted(trial.checkpoints.items())
        ]
        return _frame(rows, ["ordinal", "step", "folder", "sha256"]).set_index(["ordinal", "step"])

    @property
    def reports(self) -> pd.DataFrame:
        """ordinal, step, metric, value: what the trials reported themselves, losses and inline metrics, one row a value."""
        rows = [
            {"ordinal": ordinal, "step": step, "metric": metric, "value": value}
            for ordinal, trial in sorted(self._state.trials.items())
            for step, report in sorted(trial.reports.items())
            for metric, value in report.metrics.items()
        ]
        return _frame(rows, ["ordinal", "step", "metric", "value"])

    @property
    def baselines(self) -> pd.DataFrame:
        """(name, split) (index) and the figures of everything there is to beat."""
        held = sorted(self._state.baselines.items())
        rows = [{"name": name, "split": split, **one.figures} for (name, split), one in held]
        return _frame(rows, ["name", "split"]).set_index(["name", "split"])

    @property
    def soup(self) -> dict[str, Any] | None:
        """What ships: folder, ingredients, decision, reason, metrics, rejected; None while nothing does."""
        from stockpot.contract import soup_object

        return copy.deepcopy(soup_object(self.folder, self._state))

    def per_query(self, ordinal: int | None = None, step: int | None = None, split: str = "dev") -> pd.DataFrame:
        """suite, task, chunking, dimension, precision, metric, query, value, and the query's family, ability and domain.

        Of one checkpoint; without `step` of the trial's best on dev; without `ordinal` of every trial's best, with the columns
        ordinal and step, trials without scores left out.
        """
        import pandas as pd

        from sweeps.summary import best_checkpoint

        state = self._state
        if ordinal is not None:
            trial = self._trial(ordinal)
            if step is None:
                best = best_checkpoint(state, trial)
                if best is None:
                    raise InputError(Problem(f"trial {ordinal}", "has no checkpoint with scores on dev yet: name a step"))
                step = best.step
            return self._queries(ordinal, step, split)
        if step is not None:
            raise InputError(Problem("per_query", f"step {step} of which trial? Give its ordinal too"))
        found = {number: best_checkpoint(state, trial) for number, trial in sorted(state.trials.items())}
        best = {number: one.step for number, one in found.items() if one}
        frames = [self._queries(number, at, split).assign(ordinal=number, step=at) for number, at in best.items()
                  if split in state.trials[number].checkpoints[at].scores]  # fmt: skip
        if not frames:
            there = sorted({split for trial in state.trials.values() for one in trial.checkpoints.values() for split in one.scores})
            raise InputError(Problem(str(self.folder), f"no trial has scores on {split!r}; there are scores on {', '.join(there) or 'nothing yet'}"))
        return pd.concat(frames, ignore_index=True)

    def load(self, ordinal: int, step: int, device: str = "cpu") -> StudentEncoder:
        """The checkpoint as an encoder of queries and documents; its checksums are verified."""
        folder = self.folder / self._checkpoint(ordinal, step).folder
        from trainables.student import StudentEncoder

        return StudentEncoder.load(folder, device=device)

    def _queries(self, ordinal: int, step: int, split: str) -> pd.DataFrame:
        from evaluators.results import Results

        where, held = f"trial {ordinal} at step {step}", self._checkpoint(ordinal, step).scores
        if split not in held:
            raise InputError(Problem(where, f"has no scores on {split}; it has {', '.join(sorted(held)) or 'none yet'}"))
        file = held[split].per_query and self.folder / held[split].per_query
        if not file or not file.is_file():
            raise InputError(Problem(where, f"its values of single queries on {split} are gone: {file or 'no file was written'}"))
        results = Results.from_parquet(file)
        return results.per_query.merge(results.queries, on=["task", "query"], how="left")

    def _trial(self, ordinal: int) -> Trial:
        trials = self._state.trials
        if _not_whole(ordinal) or ordinal not in trials:
            raise InputError(Problem(f"trial {ordinal!r}", f"is not in this sweep; it has {len(trials)}, numbered from 0"))
        return trials[ordinal]

    def _checkpoint(self, ordinal: int, step: int) -> Checkpoint:
        held = self._trial(ordinal).checkpoints
        if _not_whole(step) or step not in held:
            there = ", ".join(map(str, sorted(held))) or "none yet"
            raise InputError(Problem(f"trial {ordinal}", f"has no checkpoint at step {step!r}; it has {there}"))
        return held[step]


def _not_whole(number: Any) -> bool:
    """True would be found as trial 1."""
    return isinstance(number, bool)


def _figures(scores: Mapping[str, Scores]) -> dict[str, float]:
    return {name: value for split in sorted(scores) for name, value in scores[split].figures.items()}


def _frame(rows: list[dict[str, Any]], first: list[str]) -> pd.DataFrame:
    """The rows with `first` as columns even where there is no row."""
    import pandas as pd

    frame = pd.DataFrame(rows)
    return frame.reindex(columns=[*first, *(name for name in frame.columns if name not in first)])
