"""What a sweep does next, decided from the ledger alone: which trial, go on or stop.

It knows no Ray, so that a simulated clock can drive it, and holds nothing that the ledger
does not: a resumed sweep decides as the undisturbed one. `order: deterministic` makes the
decisions independent of timing: proposal k sees trials up to k - slots, and a rung is
decided in the order of trials (DESIGN section 7).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from sweeps.config import SweepConfig
from sweeps.ledger import Ledger
from sweeps.ledger_state import Trial
from sweeps.schedulers import scheduler_of
from sweeps.search import Searcher


class Next(Enum):
    WAIT = "wait"
    """No trial may start before another one ends."""
    DONE = "done"
    """The sweep starts no further trial."""


class Conductor:
    """`clock` gives seconds since 1970; `begun` is when the sweep's time budget began to run."""

    def __init__(self, config: SweepConfig, ledger: Ledger, clock: Callable[[], float]):
        self.config, self.ledger, self.clock = config, ledger, clock
        self._searcher = Searcher(config)
        self._scheduler = scheduler_of(config)
        self._deterministic = config.order == "deterministic"
        self._unfinished = [trial.ordinal for trial in self.trials.values() if not trial.has_ended]
        self._active: set[int] = set()
        self.unscored: set[int] = set()
        """Trials of which an evaluation failed: nobody waits for their scores."""
        self.stopping = False
        """No further proposals: the budget is spent, or the user asked to stop."""

    @property
    def trials(self) -> dict[int, Trial]:
        return self.ledger.state().trials

    def next_trial(self) -> Trial | Next:
        """The trial to start now; those that a killed driver left behind come first."""
        if len(self._active) >= self.config.resources.slots:
            return Next.WAIT
        if self._unfinished:
            return self._start(self._unfinished.pop(0))
        ordinal = len(self.trials)
        if self.stopping or ordinal >= self._searcher.trials or self._out_of_time():
            return Next.DONE
        visible, pending = self._seen_by(ordinal)
        if self._deterministic and any(trial.ordinal <= ordinal - self.config.resources.slots for trial in pending):
            return Next.WAIT
        suggestion = self._searcher.ask(ordinal, visible, pending)
        proposal = {"ordinal": ordinal, "params": suggestion.recipe.model_dump(mode="json"), "varied": suggestion.varied}
        self.ledger.append("proposed", proposal, self.clock())
        return self._start(ordinal)

    def _seen_by(self, ordinal: int) -> tuple[list[Trial], list[Trial]]:
        """The trials whose results the proposal may learn from, and those it only knows of."""
        newest = ordinal - self.config.resources.slots if self._deterministic else ordinal
        visible, pending = [], []
        for trial in self.trials.values():
            settled = self._searcher.is_settled(trial) or (trial.has_ended and trial.ordinal in self.unscored)
            (visible if settled and trial.ordinal <= newest else pending).append(trial)
        return visible, pending

    def _start(self, ordinal: int) -> Trial:
        self.ledger.append("started", {"ordinal": ordinal}, self.clock())
        self._active.add(ordinal)
        return self.trials[ordinal]

    def _out_of_time(self) -> bool:
        """Time counts from the sweep's first event, so a resumed sweep gets no second budget."""
        hours = self.config.budget.hours
        return hours is not None and self.clock() - self.ledger.state().sweep["time"] > 3600 * hours

    def reported(self, events: list[tuple[str, Mapping[str, Any]]]) -> None:
        """Writes down what a trial reported: its metrics and its checkpoint, as events of the ledger."""
        self.ledger.append_all(events, self.clock())

    def decide(self, ordinal: int, step: int) -> str:
        """`continue`, `stop`, or `wait` (ask again later) for a trial that has reported `step`."""
        trial = self.trials[ordinal]
        if step < max(trial.reports):  # a replayed report: the trial went on from there once
            return "continue"
        return self._scheduler.decide(self.trials, ordinal, step)

    def ended(self, ordinal: int, status: str, reason: str = "") -> None:
        self._active.discard(ordinal)
        if not self.trials[ordinal].has_ended:
            self.ledger.append("ended", {"ordinal": ordinal, "status": status, "reason": reason}, self.clock())

    def retried(self, ordinal: int, reason: str) -> None:
        self.ledger.append("retried", {"ordinal": ordinal, "reason": reason}, self.clock())
        self.ledger.append("started", {"ordinal": ordinal}, self.clock())
