"""A sweep from its first event to its last: prepare, train under Ray Tune, evaluate, log.

The driver is the ledger's single writer, under a lease. A killed driver loses nothing: the
next one folds the ledger, hands the unfinished trials out again (they replay the reports
that lie on disk) and evaluates what has no scores yet.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from corpora.errors import InputError, Problem
from corpora.files import write_atomically
from sweeps.config import SweepConfig
from sweeps.evaluation_jobs import BASELINES
from sweeps.extending import check_same
from sweeps.interruptible import interruptible, reason_of
from sweeps.leased import leased
from sweeps.ledger import Ledger
from sweeps.ledger_state import LedgerState
from sweeps.mlflow_store import check_login
from sweeps.notify import notified, url_of
from sweeps.preparation import Preparation, Say, prepare_sweep
from sweeps.soup.ship import Kitchen
from sweeps.stopping import ASKED, stoppable
from sweeps.stored import stored
from sweeps.summary import ranked
from sweeps.sweep_folder import check_unused
from sweeps.sweep_ledger import begin, go_on, has_ledger
from sweeps.training import Training
from sweeps.warm_start import check_sources


class Sweep:
    """One driver's run of the sweep in `folder`, which holds everything the sweep makes."""

    def __init__(
        self,
        config: SweepConfig,
        folder: Path,
        say: Say,
        clock: Callable[[], float] = time.time,
        trials_only: bool = False,
    ):
        """`trials_only`: neither baselines nor a soup, for sweeps that measure something else (`stockpot noise`)."""
        self.config, self.folder, self.say, self.clock = config, Path(folder).absolute(), say, clock
        self.trials_only = trials_only
        self.reason = ""
        """Why it ended before all its trials were proposed, if it did."""
        self.failures: dict[Any, str] = {}
        """Evaluations that failed, by what they were of."""
        self.places: dict[str, Any] = {}
        """Where MLflow holds the sweep, once it has run (`Projector.places`)."""

    def run(self, resume: bool = False, allow_changed_code: bool = False) -> LedgerState:
        """Trains and evaluates everything; returns the ledger's state."""
        self._check_folder(resume)
        url_of(self.config.notify)  # says so where it is not set, before anything starts
        check_sources(self.config, self.folder)
        check_login(self.config.mlflow.uri, self.say)
        with (
            leased(self.folder, self.clock, self.say if resume else None), interruptible(), stoppable(self.folder, self.say) as self.stop,
            stored(self.folder, self.config.storage, resume, self.clock, self.say) as self.mirror,
        ):  # fmt: skip
            extends = has_ledger(self.folder) and check_same(
                Ledger.open(self.folder).state().sweep["config"], self.config
            )
            preparation = prepare_sweep(self.config, self.folder, self.say)
            if self.mirror:
                self.mirror.keep(preparation.places)
            self.ledger = self._open_ledger(preparation, allow_changed_code, extends)
            with self._projected(), notified(self.folder, self.config.notify, self.say), self._closed():
                training = Training(
                    self.config, self.folder, self.ledger, preparation, self.clock, self.say, self.mirror
                )
                self.reason, self.failures = training.run(self.stop, () if self.trials_only else BASELINES)
                if not self.trials_only:
                    self._soup()
        return self.ledger.state()

    def prepare(self) -> Preparation:
        """Only what all trials share, made or found: a sweep in this folder then starts at once."""
        self._check_folder(resume=True)
        with leased(self.folder, self.clock), interruptible():
            return prepare_sweep(self.config, self.folder, self.say)

    def _check_folder(self, resume: bool) -> None:
        if has_ledger(self.folder) and not resume:
            raise InputError(
                Problem(str(self.folder), "holds a sweep already: go on with it by --resume, or give another --out")
            )
        check_unused(self.folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self.folder / ".writable", b"")
            (self.folder / ".writable").unlink()
        except OSError as error:
            raise InputError(
                Problem(str(self.folder), f"cannot be written to ({error.strerror}): give another --out")
            ) from None

    def _open_ledger(self, preparation: Preparation, allow_changed_code: bool, extends: bool) -> Ledger:
        if has_ledger(self.folder):
            return go_on(self.config, self.folder, preparation, self.clock(), allow_changed_code, extends)
        return begin(self.config, self.folder, preparation, self.clock())

    def _append(self, kind: str, payload: dict[str, Any]) -> None:
        self.ledger.append(kind, payload, self.clock())

    @contextlib.contextmanager
    def _closed(self) -> Iterator[None]:
        """The ledger's last event says how it ended, while MLflow still follows."""
        try:
            yield
        except BaseException as error:
            interrupted = isinstance(error, KeyboardInterrupt)
            reason = ASKED if self.stop.asked else reason_of(error) if interrupted else str(error)[:500]
            self._append("closed", {"status": "interrupted" if interrupted else "failed", "reason": reason})
            raise
        self._append("closed", {"status": "finished", "reason": self.reason})

    @contextlib.contextmanager
    def _projected(self) -> Iterator[None]:
        """MLflow follows the ledger from a thread of its own; what it misses is left to `stockpot sync`."""
        from sweeps.projector import BackgroundProjector

        mlflow = self.config.mlflow
        projector = BackgroundProjector(self.folder, mlflow.uri, mlflow.experiment, warn=self.say, ledger=self.ledger)
        try:
            yield
        finally:
            self.say("bringing MLflow up to date")
            left = projector.close()
            self.places = left.places
            if left.pending:
                self.say(
                    f"MLflow lacks {len(left.pending)} pages ({left.error}): `stockpot sync {self.folder}` sends them"
                )

    def _soup(self) -> None:
        if not any("dev" in c.scores for t in self.ledger.state().trials.values() for c in t.checkpoints.values()):
            self.say("no checkpoint was evaluated: there is nothing to make a soup of")
            return
        if self.config.search.constraints and not ranked(self.ledger.state()):
            self.say("every checkpoint breaks a constraint of `search.constraints`: nothing ships")
            return
        Kitchen(self.folder, self.ledger, self.clock, self.say, threads=os.cpu_count() or 1).ship()
