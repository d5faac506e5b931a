"""Ray Tune's searcher and scheduler, as two thin faces of the conductor.

A trial that must wait for another's rung keeps its worker and gets no further step
(Tune's NOOP) until `choose_trial_to_run`, which Tune calls on every turn of its loop,
finds it decided. Nothing is saved or restored by Tune: the ledger is.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ray
from ray import cloudpickle
from ray.tune.experiment import Trial as TuneTrial
from ray.tune.schedulers import TrialScheduler
from ray.tune.search import Searcher

from corpora.errors import StockpotError
from sweeps.conductor import Conductor, Next
from sweeps.config import Resources
from sweeps.evaluation_pool import reason_of
from sweeps.ledger_state import Trial
from sweeps.ray_cluster import evaluation_options, trial_bundle


NO_STORAGE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


class ConductedSearch(Searcher):
    """`job_of(trial)` is the config that Tune hands to the trial's worker; `on_turn()` is called while Tune waits for one,
    and `make_room()`, since Tune then looks at nothing else."""

    def __init__(
        self, conductor: Conductor, job_of: Callable[[Trial], dict[str, Any]], on_turn: Callable[[], None], make_room: Callable[[], None],
    ):  # fmt: skip
        super().__init__(metric="until", mode="max")
        self._conductor, self._job_of, self._on_turn, self._make_room = conductor, job_of, on_turn, make_room

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        self._on_turn()
        self._make_room()
        following = self._conductor.next_trial()
        if following is Next.DONE:
            # Not while trials are under way: one whose worker dies may have to be handed out again.
            return Searcher.FINISHED if self._conductor.is_idle or self._conductor.stopping else None
        return None if following is Next.WAIT else self._job_of(following)

    def on_trial_complete(self, trial_id: str, result: dict | None = None, error: bool = False) -> None:
        """Ends are told by the scheduler, which knows their reasons."""

    def __getstate__(self) -> dict[str, Any]:
        return {}  # Tune pickles its searcher on every start, for a restore that never comes

    def save(self, checkpoint_path: str) -> None:
        """Nothing to save: a new searcher starts from the ledger."""

    restore = save


class ConductedScheduler(TrialScheduler):
    """`on_report(ordinal, result)` writes down what a trial reported; `on_turn()` is called on every turn of the loop."""

    def __init__(self, conductor: Conductor, on_report: Callable[[int, dict[str, Any]], None], on_turn: Callable[[], None]):
        super().__init__()
        self._conductor, self._on_report, self._on_turn = conductor, on_report, on_turn
        self._waiting: dict[TuneTrial, int] = {}
        self._controller: Any = None  # Tune's own, once there is a trial

    def on_trial_add(self, tune_controller: Any, trial: TuneTrial) -> None:
        """Nothing to plan: the conductor chose it."""
        self._controller = _whole(tune_controller)

    def on_trial_result(self, tune_controller: Any, trial: TuneTrial, result: dict[str, Any]) -> str:
        self._on_report(trial.config["ordinal"], result)
        return self._decide(trial, result["until"])

    def _decide(self, trial: TuneTrial, step: int) -> str:
        decision = self._conductor.decide(trial.config["ordinal"], step)
        if decision == "wait":
            self._waiting[trial] = step
            return self.NOOP
        if decision == "stop":
            self._conductor.ended(trial.config["ordinal"], "stopped", f"stopped by the scheduler at step {step}")
            return self.STOP
        return self.CONTINUE

    def choose_trial_to_run(self, tune_controller: Any) -> TuneTrial | None:
        self._on_turn()
        if self._conductor.stopping:
            self._end_if_held(tune_controller)
            return None
        self._release(_whole(tune_controller))
        self.make_room()
        return next((trial for trial in tune_controller.get_trials() if trial.status == TuneTrial.PENDING), None)

    def make_room(self) -> None:
        """Ends the warm workers when no trial comes any more; also where an idle sweep's evaluations wait for their CPUs:
        the next proposal waits for the evaluations."""
        if self._controller is None:
            return
        starved = self._conductor.is_idle and not _has_lane(self._conductor.config.resources)
        if (starved or self._conductor.is_done) and self._controller._actor_cache.num_cached_objects:
            self._controller._cleanup_cached_actors(force_all=True)
        if starved and self._controller._stopping_actors:
            self._controller._actor_manager.next(timeout=0)  # their CPUs are free once Tune has seen their end
            self._controller._cleanup_stopping_actors()

    def _end_if_held(self, controller: Any) -> None:
        """Ends the sweep's loop, as Ctrl-C does, when every trial that runs waits at a checkpoint."""
        if all(trial in self._waiting for trial in controller.get_trials() if trial.status == TuneTrial.RUNNING):
            raise KeyboardInterrupt

    def _release(self, controller: Any) -> None:
        """Lets go of the trials whose rung is decided by now."""
        for trial, step in list(self._waiting.items()):
            decision = self._decide(trial, step)
            if decision != self.NOOP:
                del self._waiting[trial]
                controller._execute_action(trial, decision)

    def on_trial_complete(self, tune_controller: Any, trial: TuneTrial, result: dict[str, Any]) -> None:
        """After the trial's last result, which Tune shows to no scheduler, or after our own STOP."""
        ordinal = trial.config["ordinal"]
        if self._conductor.trials[ordinal].has_ended:
            return
        if "failed" in result:
            self._conductor.ended(ordinal, "failed", result["failed"])
        else:
            self._on_report(ordinal, result)
            self._conductor.ended(ordinal, "finished")

    def on_trial_error(self, tune_controller: Any, trial: TuneTrial) -> None:
        """`ERROR` is what a trial is that Tune is about to queue again. Any other it gives up, even one with restarts left
        whose warm worker died before it had taken the trial over; that one is handed out anew."""
        self._waiting.pop(trial, None)
        controller = _whole(tune_controller)
        controller._resetting_trials.discard(trial)  # Tune forgets to, and would wait for its worker for ever
        controller._cleanup_cached_actors(force_all=True)  # those of the same node are dead as well
        ordinal, error = trial.config["ordinal"], _error_of(trial)
        _check_storage(ordinal, error)
        if trial.status == TuneTrial.ERROR:
            self._conductor.retried(ordinal, reason_of(error))
        elif trial.should_recover():
            self._conductor.given_back(ordinal, reason_of(error))
        else:
            self._conductor.ended(ordinal, "failed", reason_of(error))

    def on_trial_remove(self, tune_controller: Any, trial: TuneTrial) -> None:
        """A trial that never ran: it stays proposed, and a resumed sweep starts it."""

    def debug_string(self) -> str:
        return "conducted from the ledger"

    def __getstate__(self) -> dict[str, Any]:
        return {}  # as above

    def save(self, checkpoint_path: str) -> None:
        """Nothing to save: a new scheduler starts from the ledger."""

    restore = save


def _whole(tune_controller: Any) -> Any:
    """The controller behind the few methods that Tune shows to schedulers."""
    return getattr(tune_controller, "_tune_controller", tune_controller)


def _has_lane(resources: Resources) -> bool:
    """Whether an evaluation finds room while every slot holds a worker."""
    have, trial, task = ray.cluster_resources(), trial_bundle(resources)[0], evaluation_options(resources)
    left = {name: have.get(name, 0) - resources.slots * trial.get(name, 0) for name in ("CPU", "GPU")}
    return left["CPU"] >= task["num_cpus"] and left["GPU"] >= task["num_gpus"]


def _error_of(trial: TuneTrial) -> Exception | None:
    """What a trial failed by. Tune's own getter looks where the file is copied to later."""
    path = Path(trial.pickled_error_file or "")
    return cloudpickle.loads(path.read_bytes()) if path.is_file() else None


def _check_storage(ordinal: int, error: Exception | None) -> None:
    """A full disk is no trial's fault: the others would fail one after another, where --resume could have gone on."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, OSError) and cause.errno in NO_STORAGE:
        raise StockpotError(f"trial {ordinal} could not write ({cause}): make room, then go on with --resume")
