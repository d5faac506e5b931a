"""What a sweep does next, decided from the ledger alone: which trial, go on or stop.

It knows no Ray, so that a simulated clock can drive it, and holds nothing that the ledger
does not: a resumed sweep decides as the undisturbed one. `order: deterministic` makes the
decisions independent of timing: proposal k sees trials up to k - slots, and a rung is
decided in the order of trials (DESIGN section 7).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

from sweeps.config import SweepConfig
from sweeps.constraints import untrained_figures
from sweeps.ledger import Ledger
from sweeps.ledger_state import LedgerState, Trial
from sweeps.population import Exploit
from sweeps.schedulers import scheduler_of
from sweeps.search import Searcher


class Next(Enum):
    WAIT = "wait"
    """No trial may start before another one ends."""
    DONE = "done"
    """The sweep starts no further trial."""


class Conductor:
    """`clock` gives seconds since 1970; `earlier`: trials of earlier sweeps that the search learns from; `instruct(trial)`
    is called when a trial has something to take over from another one, before it goes on."""

    def __init__(
        self, config: SweepConfig, ledger: Ledger, clock: Callable[[], float], earlier: Sequence[Trial] = (),
        instruct: Callable[[Trial], None] = lambda trial: None,
    ):  # fmt: skip
        self.config, self.ledger, self.clock, self._instruct = config, ledger, clock, instruct
        self._searcher = Searcher(config, earlier)
        self._scheduler = scheduler_of(config)
        self._deterministic = config.order == "deterministic"
        self._unfinished = [trial.ordinal for trial in self.trials.values() if not trial.has_ended]
        self._active: set[int] = set()
        self._unlearnt = list(self.trials)  # trials whose results the searcher has not been shown yet
        self.unscored: set[int] = set()
        """Trials of which an evaluation failed: nobody waits for their scores."""
        self.stopping = False
        """The user asked to stop: no trial starts, and each that runs waits at its next report."""
        self.is_done = False
        """Every trial has been proposed."""
        self.reason = ""
        """Which budget ended the proposals, if one did."""

    @property
    def trials(self) -> dict[int, Trial]:
        return self.ledger.state().trials

    def next_trial(self) -> Trial | Next:
        """The trial to start now; those that a killed driver left behind come first."""
        if self.stopping:
            return Next.DONE
        if len(self._active) >= self.config.resources.slots:
            return Next.WAIT
        if self._unfinished:
            return self._start(self._unfinished.pop(0))
        ordinal = len(self.trials)
        if ordinal >= self._searcher.trials or self._is_spent():
            self.is_done = True
            return Next.DONE
        visible, pending = self._seen_by(ordinal)
        waits = self._deterministic and self._searcher.learns(ordinal)
        if waits and any(
            trial.ordinal <= ordinal - self.config.resources.slots and self._comes(trial) for trial in pending
        ):
            return Next.WAIT
        suggestion = self._searcher.ask(ordinal, visible, pending, untrained_figures(self.ledger.state()))
        proposal = {
            "ordinal": ordinal,
            "params": suggestion.recipe.model_dump(mode="json"),
            "varied": suggestion.varied,
        }
        self.ledger.append("proposed", proposal, self.clock())
        self._unlearnt = [*(trial.ordinal for trial in pending), ordinal]
        return self._start(ordinal)

    @property
    def is_idle(self) -> bool:
        """No trial is under way."""
        return not self._active

    def _seen_by(self, ordinal: int) -> tuple[list[Trial], list[Trial]]:
        """The trials whose results the proposal is the first to learn from, and those it only knows of."""
        newest = ordinal - self.config.resources.slots if self._deterministic else ordinal
        visible, pending = [], []
        for trial in map(self.trials.__getitem__, self._unlearnt):
            is_seen = trial.ordinal <= newest and self._searcher.is_settled(trial)
            (visible if is_seen else pending).append(trial)
        return visible, pending

    def _comes(self, trial: Trial) -> bool:
        """Whether its results are still to come."""
        return not self._searcher.is_settled(trial) and not (trial.has_ended and trial.ordinal in self.unscored)

    def _start(self, ordinal: int) -> Trial:
        self.ledger.append("started", {"ordinal": ordinal}, self.clock())
        self._active.add(ordinal)
        if self.trials[ordinal].exploits:  # the driver before may have died between its decision and this
            self._instruct(self.trials[ordinal])
        return self.trials[ordinal]

    def _is_spent(self) -> bool:
        """Both budgets count from the sweep's first event, so a resumed sweep gets no second one."""
        budget = self.config.budget
        if budget.hours is not None and self.ledger.state().worked(self.clock()) > 3600 * budget.hours:
            self.reason = f"budget.hours: {budget.hours:g} hours are over"
        elif (
            budget.gpu_hours is not None
            and (spent := gpu_hours(self.ledger.state(), self.config.resources.gpus)) >= budget.gpu_hours
        ):
            self.reason = f"budget.gpu_hours: {spent:.2f} of {budget.gpu_hours:g} are spent"
        return bool(self.reason)

    def reported(self, events: list[tuple[str, Mapping[str, Any]]]) -> None:
        """Writes down what a trial reported: its metrics and its checkpoint, as events of the ledger."""
        self.ledger.append_all(events, self.clock())

    def decide(self, ordinal: int, step: int) -> str:
        """`continue`, `stop`, or `wait` (ask again later) for a trial that has reported `step`."""
        trial = self.trials[ordinal]
        if step < max(trial.reports):  # a replayed report: the trial went on from there once
            return "continue"
        if self.stopping:
            return "wait"
        if step in trial.exploits:  # decided by a driver that died before the trial trained on
            return "continue"
        decision = self._scheduler.decide(self.trials, ordinal, step)
        if isinstance(decision, Exploit):
            self._exploit(trial, step, decision)
            return "continue"
        return decision

    def _exploit(self, trial: Trial, step: int, decision: Exploit) -> None:
        sha256 = self.trials[decision.donor].checkpoints[step].sha256
        taken = {
            "ordinal": trial.ordinal, "step": step, "donor": {"ordinal": decision.donor, "step": step, "sha256": sha256},
            "params": decision.suggestion.recipe.model_dump(mode="json"), "varied": decision.suggestion.varied,
        }  # fmt: skip
        self.ledger.append("exploited", taken, self.clock())
        self._instruct(trial)

    def ended(self, ordinal: int, status: str, reason: str = "") -> None:
        self._active.discard(ordinal)
        if not self.trials[ordinal].has_ended:
            self.ledger.append("ended", {"ordinal": ordinal, "status": status, "reason": reason}, self.clock())

    def given_back(self, ordinal: int, reason: str) -> None:
        """Its worker is gone and nobody starts another one: the trial is handed out again, before any new one."""
        self.ledger.append("retried", {"ordinal": ordinal, "reason": reason}, self.clock())
        self._active.discard(ordinal)
        self._unfinished.insert(0, ordinal)

    def retried(self, ordinal: int, reason: str) -> None:
        self.ledger.append("retried", {"ordinal": ordinal, "reason": reason}, self.clock())
        self.ledger.append("started", {"ordinal": ordinal}, self.clock())


def gpu_hours(state: LedgerState, gpus: float) -> float:
    """What trials and their evaluations computed, in hours of GPUs; waiting and a driver's absence cost nothing."""
    return gpus * state.computed / 3600
