"""A sweep as it runs, read from its ledger: a live view on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from stockpot.output import progress
from sweeps.config import SweepConfig
from sweeps.ledger import Ledger
from sweeps.ledger_state import LedgerState, Trial
from sweeps.space import label

REFRESH = 1.0  # seconds


class Progress:
    """Shows the sweep in `folder` while the `with` block runs; `say` adds what the driver is doing now."""

    def __init__(self, config: SweepConfig, folder: Path):
        self.config, self.folder = config, folder
        self._doing, self._told = "starting", ""
        self._begun = time.monotonic()
        self._over = threading.Event()
        self._ledger: Ledger | None = None
        self._live = Live(console=progress, auto_refresh=False, transient=True) if progress.is_terminal else None

    def say(self, what: str) -> None:
        self._doing = what
        if self._live is None:
            progress.print(f"{self._clock()}  {what}", markup=False, soft_wrap=True)

    def __enter__(self) -> Progress:
        if self._live:
            self._live.start()
        self._thread = threading.Thread(target=self._watch, name="progress", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if self._live:
            self._live.stop()

    def _watch(self) -> None:
        while not self._over.wait(REFRESH):
            state = self._state()
            if self._live:
                self._live.update(self._view(state), refresh=True)
            elif state is not None:
                line = headline(state, self.config, time.time())
                if line != self._told:
                    self._told = line
                    progress.print(f"{self._clock()}  {line}", markup=False, soft_wrap=True)

    def _state(self) -> LedgerState | None:
        if self._ledger is None:
            if not (self.folder / "ledger" / "events").is_dir():
                return None
            self._ledger = Ledger.open(self.folder)
        return self._ledger.state()

    def _view(self, state: LedgerState | None) -> Group:
        doing = Text(f"{self._clock()}  {self._doing}", style="dim")
        if state is None:
            return Group(doing)
        bar = ProgressBar(total=1.0, completed=share_done(state, self.config), width=60)
        return Group(Text(headline(state, self.config, time.time()), style="bold"), bar, running(state, self.config), doing)

    def _clock(self) -> str:
        seconds = int(time.monotonic() - self._begun)
        return f"{seconds // 60:d}:{seconds % 60:02d}"


def headline(state: LedgerState, config: SweepConfig, now: float) -> str:
    """Trials done, the best so far, checkpoints evaluated, time left."""
    ended = sum(trial.has_ended for trial in state.trials.values())
    total = trials_planned(config)
    best = best_so_far(state, config)
    evaluated = sum("dev" in c.scores for t in state.trials.values() for c in t.checkpoints.values())
    checkpoints = sum(len(trial.checkpoints) for trial in state.trials.values())
    parts = [f"trials {ended}/{total}", f"evaluated {evaluated}/{checkpoints} checkpoints"]
    if best:
        parts.insert(1, f"best {config.scheduler.metric} {best[1]:.3f} (trial {best[0].ordinal})")
    left = seconds_left(state, config, now)
    return ", ".join([*parts, *([f"about {left / 60:.0f} min left"] if left is not None and left > 30 else [])])


def running(state: LedgerState, config: SweepConfig) -> Table:
    """One row a trial under way."""
    table = Table(box=None, show_header=False, padding=(0, 2))
    for trial in state.trials.values():
        if not trial.has_ended:
            step = max(trial.reports, default=0)
            value = trial.reports[step].metrics.get(config.scheduler.metric) if step else None
            told = "" if value is None else f"{config.scheduler.metric} {value:.3f}"
            table.add_row(f"trial {trial.ordinal}", Text(label(trial.varied)), f"step {step}/{trial.params['steps']}", told)
    return table


def trials_planned(config: SweepConfig) -> int:
    return config.search.trials or config.space.size or 0


def best_so_far(state: LedgerState, config: SweepConfig) -> tuple[Trial, float] | None:
    found = [
        (trial, report.metrics[config.scheduler.metric])
        for trial in state.trials.values()
        for report in trial.reports.values()
        if config.scheduler.metric in report.metrics
    ]
    return max(found, key=lambda pair: pair[1], default=None)


def share_done(state: LedgerState, config: SweepConfig) -> float:
    """Trials' steps done, those that early stopping saved counted as done."""
    done = [1.0 if t.has_ended else max(t.reports, default=0) / t.params["steps"] for t in state.trials.values()]
    return sum(done) / max(trials_planned(config), len(done), 1)


def seconds_left(state: LedgerState, config: SweepConfig, now: float) -> float | None:
    """From the pace so far; None before the first report."""
    share = share_done(state, config)
    begun = state.resumed[-1]["time"] if state.resumed else state.sweep["time"]
    return (now - begun) * (1 - share) / share if 0 < share < 1 else None
