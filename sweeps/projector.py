"""The ledger as MLflow shows it: a parent run a sweep, a child run a trial, a logged model a checkpoint.

MLflow is a projection (DESIGN section 7). `update` sends what is new; a new Projector over a store that holds nothing,
something or everything ends at the same pages. An outage delays pages, and never loses, doubles or stops anything.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import StockpotError
from sweeps import mlflow_store
from sweeps.ledger import Ledger
from sweeps.ledger_state import LedgerState
from sweeps.projected_sweep import SweepProjection, page_mark
from sweeps.projected_trial import HeldRun, TrialProjection, mark_of

if TYPE_CHECKING:
    from mlflow.entities import Run

INTERVAL = 2.0  # seconds between looks at the ledger
PAGES = 180.0  # seconds between drawings of the sweep's figures while it runs: each costs two of a core
LONGEST_WAIT = 60.0  # seconds between two tries during an outage


class Projector:
    """Projects the sweep in `folder` into the store `uri`, its own SQLite file by default.

    `ledger`: the driver's, where one writes in this process, so that its memory holds the trials once.
    """

    def __init__(
        self, folder: Path, uri: str | None = None, experiment: str | None = None, ledger: Ledger | None = None
    ):
        self.folder = Path(folder).resolve()
        self.uri = uri or mlflow_store.default_uri(self.folder)
        self._ledger = ledger or Ledger.open(self.folder)
        self.experiment = experiment or self._ledger.state().sweep["name"]
        self._marks: dict[int, tuple] = {}  # ordinal -> what of the trial MLflow has taken
        self._page = ""  # the same for the sweep's own page
        self._placed: dict[str, str] = {}
        self._parent: str | None = None
        self._forget()

    def update(self, pages: bool = True) -> None:
        """Sends what MLflow does not hold yet; with `pages` also the sweep's figures, table and soup.

        Raises StockpotError, without secrets, when the store does not take it; the next call looks up what arrived.
        """
        sweep = self._ledger.glance(lambda state: state.copy(()))
        try:
            self._connect(sweep)
            news = self._ledger.glance(lambda state: state.copy(self._new(state)))
            for ordinal in news.trials:
                self._project(news, ordinal)
            if pages:
                self._page = self._sweep.project(self._ledger.glance(lambda state: state.copy(state.trials)))
        except Exception as error:  # whatever a store, a proxy or a disk may raise
            self._forget()
            raise StockpotError(f"MLflow ({mlflow_store.masked(self.uri)}): {mlflow_store.words(error, self.uri)}") from None

    def pending(self) -> list[str]:
        """Names of the trials of which MLflow has not taken everything, and `the sweep's page`, to be sent by `sync`."""
        new, page = self._ledger.glance(lambda state: (sorted(self._new(state)), page_mark(state)))
        return [f"trial {ordinal:03d}" for ordinal in new] + (["the sweep's page"] if self._page != page else [])

    def places(self) -> dict[str, Any]:
        """`uri`, `experiment`, `parent_run_id`, and `runs`: trial_id -> run_id, as far as MLflow was reached."""
        uri = mlflow_store.masked(self.uri)
        return {"uri": uri, "experiment": self.experiment, "parent_run_id": self._parent, "runs": dict(self._placed)}

    def _new(self, state: LedgerState) -> list[int]:
        """Ordinals of the trials of which MLflow has not taken everything."""
        return [ordinal for ordinal, trial in state.trials.items() if self._marks.get(ordinal) != mark_of(state, trial)]

    def _project(self, state: LedgerState, ordinal: int) -> None:
        trial = state.trials[ordinal]
        mark = mark_of(state, trial)  # before: scores may come meanwhile
        run = self._runs[ordinal] = self._trials.project(state, trial, self._runs.get(ordinal))
        self._placed[trial.trial_id] = run.run_id
        self._marks[ordinal] = mark

    def _forget(self) -> None:
        """After a failure it is unknown what arrived of what was under way."""
        self._sweep: SweepProjection | None = None
        self._trials: TrialProjection | None = None
        self._runs: dict[int, HeldRun] = {}

    def _connect(self, state: LedgerState) -> None:
        """Finds the runs of this sweep, or makes its parent, once until something fails."""
        if self._sweep is not None:
            return
        client = mlflow_store.open_client(self.uri)
        experiment = mlflow_store.experiment_id(client, self.uri, self.experiment, self.folder)
        found: dict[str, list[Run]] = defaultdict(list)
        token = None
        while True:
            wanted = f"tags.`stockpot.sweep_id` = '{state.sweep['sweep_id']}'"
            page = client.search_runs([experiment], wanted, max_results=1000, page_token=token)
            for run in page:
                found[run.data.tags.get("stockpot.ordinal", "")].append(run)
            if not (token := page.token):
                break
        for runs in found.values():
            runs.sort(key=lambda run: run.info.run_id)
            for twin in runs[1:]:  # opened twice: the answer to the first request was lost
                client.delete_run(twin.info.run_id)
        parents = found.pop("", [])
        sweep = SweepProjection(client, experiment, self.folder, parents[0] if parents else None, state)
        self._trials = TrialProjection(client, experiment, sweep.run_id)
        self._runs = {int(ordinal): HeldRun.of(runs[0]) for ordinal, runs in found.items()}
        self._marks = {ordinal: mark for ordinal, mark in self._marks.items() if ordinal in self._runs}
        self._sweep, self._parent = sweep, sweep.run_id


def sync(folder: Path, uri: str | None = None, experiment: str | None = None) -> dict[str, Any]:
    """Rebuilds MLflow from the ledger alone, into any store; returns `Projector.places`."""
    projector = Projector(folder, uri, experiment)
    projector.update()
    return projector.places()


@dataclass(frozen=True)
class Projected:
    """How a projection ended: `pending` names what MLflow lacks, `error` says why; `sync` sends it later."""

    pending: list[str]
    error: str
    places: dict[str, Any]


class BackgroundProjector:
    """A thread that projects a running sweep until `close`; neither raises into the sweep nor waits for a dead server.

    `warn` is told once when an outage begins and once when it ends.
    """

    def __init__(
        self, folder: Path, uri: str | None = None, experiment: str | None = None,
        warn: Callable[[str], None] = lambda line: None, interval: float = INTERVAL, ledger: Ledger | None = None,
    ):  # fmt: skip
        self._projector = Projector(folder, uri, experiment, ledger)
        self._warn, self._interval = warn, interval
        self._closing, self._done = threading.Event(), threading.Event()
        self._error = ""
        threading.Thread(target=self._run, name="mlflow-projector", daemon=True).start()

    def close(self, patience: float = 60.0) -> Projected:
        """Sends the rest and says what could not be sent.

        A server that refuses ends this at once, one that hangs or is too slow after `patience` seconds.
        """
        self._closing.set()
        self._done.wait(patience)
        pending = self._projector.pending()
        error = self._error or f"not done within {patience:.0f} s"
        return Projected(pending, error if pending else "", self._projector.places())

    def _run(self) -> None:
        wait, drawn = self._interval, time.monotonic()
        while not self._closing.is_set():
            pages = time.monotonic() - drawn >= PAGES
            went_well = self._try(pages)
            drawn = time.monotonic() if pages else drawn
            wait = self._interval if went_well else min(2 * wait, LONGEST_WAIT)
            self._closing.wait(wait)
        self._try(pages=True)
        self._done.set()

    def _try(self, pages: bool) -> bool:
        try:
            self._projector.update(pages)
        except StockpotError as error:
            if not self._error:
                self._warn(f"{error}; the sweep goes on, and MLflow is brought up to date later")
            self._error = str(error)
            return False
        if self._error:
            self._warn("MLflow answers again and is up to date")
        self._error = ""
        return True
