"""A suite that comes later, on all kept checkpoints of a sweep and its baselines (DESIGN section 6).

Each (checkpoint, suite) is a task of its own: what the ledger holds is not done again, and a result that lies on disk
is not worked out again. Suites by name are measured on the sweep's dev split, as its own evaluations are, and kept as
the split `dev/SUITE`; a suite file under its own name. Figures are named as ever: `dev/needle/AUC@1024`,
`legal/q2c/nDCG@10`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpora.errors import InputError, Problem, StockpotError
from evaluators.suite_file import SuiteFile
from evaluators.suites import SUITES
from evaluators.tasks import Task
from sweeps.config import SweepConfig
from sweeps.corpora_config import SPLITS
from sweeps.evaluation_jobs import BASELINES
from sweeps.evaluations import SCORES, Job, Outcome, run_job, tasks_of
from sweeps.leased import leased
from sweeps.ledger import Ledger
from sweeps.ledger_state import Scores
from sweeps.opening import split_folders
from sweeps.projector import sync
from trainables.base import encoder_folder
from trainables.encoders import BM25, CHECKPOINT

DEV = "dev"


@dataclass
class Filled:
    """What a backfill did, in the words of `Backfill.rows`."""

    measured: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """One checkpoint or baseline: what the ledger calls it, and what it holds of it, by split."""

    name: str
    kind: str
    model: Path
    event: str
    key: Mapping[str, Any]
    scores: Mapping[str, Scores]


def backfill(
    folder: Path, suites: Sequence[str] | SuiteFile, clock: Callable[[], float], say: Callable[[str], None],
    threads: int = 1,
) -> Filled:
    """Measures what is missing, under the sweep's lease, and brings MLflow up to date; a second call does nothing."""
    folder = Path(folder).absolute()
    Ledger.open(folder)  # a folder without a sweep gets no lease
    with leased(folder, clock):
        ledger = Ledger.open(folder, write=True)
        filled = Backfill(folder, ledger, suites, clock, say, threads).fill()
        if filled.measured:
            say("bringing MLflow up to date")
            mlflow = ledger.state().sweep["config"]["mlflow"]
            try:
                sync(folder, mlflow["uri"], mlflow["experiment"])
            except StockpotError as error:  # an outage delays and loses nothing
                say(f"{error}; `stockpot sync {folder}` sends it later")
    return filled


class Backfill:
    def __init__(
        self, folder: Path, ledger: Ledger, suites: Sequence[str] | SuiteFile, clock: Callable[[], float],
        say: Callable[[str], None], threads: int,
    ):
        self.folder, self.ledger, self.clock, self.say, self.threads = folder, ledger, clock, say, threads
        sweep = ledger.state().sweep
        self.config = SweepConfig.model_validate(sweep["config"])
        self.base = folder / sweep["places"]["base"]
        self.file = suites if isinstance(suites, SuiteFile) else None
        self.suites = tuple(self.file.suites if self.file else dict.fromkeys(suites))
        self._check()
        self.corpora = tuple(map(str, split_folders(folder, DEV)))
        self.tasks: list[Task] = tasks_of(self._job(CHECKPOINT, self.base, "none", self.suites))
        self.hash = self.file.sha256(self.tasks)[:12] if self.file else ""

    def fill(self) -> Filled:
        filled = Filled()
        for row in self.rows():
            wanted = [suite for suite in self._labels() if suite not in row.scores]
            if not wanted:
                self._same(row)
                filled.held.append(row.name)
            elif row.kind == CHECKPOINT and not row.model.is_dir():
                filled.missing.append(row.name)
            else:
                self.say(f"evaluating {row.name}: {', '.join(wanted)}")
                try:
                    self._record(row, wanted, run_job(self._row_job(row, wanted), self.tasks))
                except StockpotError as error:  # one that fails must not keep the others waiting
                    filled.failed[row.name] = str(error)
                else:
                    filled.measured.append(row.name)
        return filled

    def rows(self) -> list[Row]:
        """Baselines that the sweep has, then every checkpoint by trial and step."""
        state = self.ledger.state()
        pretrained = {CHECKPOINT: self.base, BM25: Path()}
        found = []
        for name, kind in BASELINES.items():
            held = {split: scores for (of, split), scores in state.baselines.items() if of == name}
            if held:
                model = pretrained.get(kind) or encoder_folder(self.config.student.encoder)
                found.append(Row(name, kind, model, "baseline", {"name": name}, held))
        for ordinal, trial in sorted(state.trials.items()):
            for step, checkpoint in sorted(trial.checkpoints.items()):
                name, key = f"trial {ordinal}, step {step}", {"ordinal": ordinal, "step": step}
                found.append(Row(name, CHECKPOINT, self.folder / checkpoint.folder, "scores", key, checkpoint.scores))
        return found

    def _labels(self) -> list[str]:
        """The splits under which the ledger keeps what is measured here; the sweep's own suites are on dev already."""
        new = [suite for suite in self.suites if suite not in self.config.evaluation.suites]
        return [self.file.name] if self.file else [f"{DEV}/{suite}" for suite in new]

    def _record(self, row: Row, labels: list[str], outcome: Outcome) -> None:
        per_query = str(outcome.per_query.relative_to(self.folder))
        events = []
        for label in labels:
            split, _, suite = label.partition("/")
            figures = {f"{split}/{name}": value for name, value in outcome.figures.items()
                       if not suite or name.startswith(f"{suite}/")}
            seconds = outcome.seconds / len(labels)
            content = {"split": label, "figures": figures, "per_query": per_query, "seconds": seconds}
            events.append((row.event, {**row.key, **content}))
        self.ledger.append_all(events, self.clock())

    def _row_job(self, row: Row, labels: list[str]) -> Job:
        suites = self.suites if self.file else tuple(label.partition("/")[2] for label in labels)
        place = "-".join(row.name.replace(",", "").split())
        label = f"{self.file.name}-{self.hash}" if self.file else f"{DEV}-{'+'.join(suites)}"
        return self._job(row.kind, row.model, f"{label}-{place}", suites)

    def _job(self, kind: str, model: Path, name: str, suites: tuple[str, ...]) -> Job:
        return Job(
            kind=kind, model=str(model), tokenizer=str(self.base), corpora=self.corpora,
            result=str(self.folder / SCORES / f"{name}.parquet"),
            evaluation=self.config.evaluation, suites=suites, threads=self.threads, suite=self.file,
            trust_remote_code=self.config.student.trust_remote_code,
        )  # fmt: skip

    def _check(self) -> None:
        if self.file:
            problems = [Problem(f"suite {self.file.name}", f"is the name of a split of the sweep ({', '.join(SPLITS)}): "
                                "give the file another `name`")] * (self.file.name in SPLITS)
        else:
            problems = [Problem(f"suite {suite!r}", f"allowed are {', '.join(SUITES)}, or a suite file")
                        for suite in self.suites if suite not in SUITES]
        if problems:
            raise InputError(problems)

    def _same(self, row: Row) -> None:
        """A suite file that changed must not pass for the one that was measured."""
        held = row.scores[self.file.name].per_query if self.file else None
        if held is not None and self.hash not in held:
            raise InputError(Problem(f"suite {self.file.name}", "the sweep holds scores of a suite of this name with other "
                                     "settings or corpora: give the file another `name`"))
