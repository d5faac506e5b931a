"""Evaluations as Ray tasks beside the trials, outside any trial's placement group.

They are submitted and collected by the driver's own loop, so that one thread writes the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import ray

from sweeps.config import Resources
from sweeps.evaluations import Job, Outcome, run_job
from sweeps.ray_cluster import evaluation_options
from trainables.gpu_share import given_gpus, keep_to_share


class EvaluationPool:
    """`on_outcome(key, outcome)` is called from `collect`; what failed is kept in `failures`."""

    def __init__(self, on_outcome: Callable[[Hashable, Outcome], None], resources: Resources):
        self._on_outcome = on_outcome
        self._task = ray.remote(max_retries=3, **evaluation_options(resources))(_run)
        self._pending: dict[ray.ObjectRef, Hashable] = {}
        self.failures: dict[Hashable, str] = {}

    def submit(self, key: Hashable, job: Job) -> None:
        self._pending[self._task.remote(job)] = key

    def __len__(self) -> int:
        """Evaluations that have not ended yet."""
        return len(self._pending)

    def collect(self, timeout: float = 0) -> None:
        """Hands over what has ended, waiting up to `timeout` seconds for the first."""
        if not self._pending:
            return
        ready, _ = ray.wait(list(self._pending), num_returns=1 if timeout else len(self._pending), timeout=timeout)
        for reference in ready:
            key = self._pending.pop(reference)
            try:
                outcome = ray.get(reference)
            except ray.exceptions.RayError as error:  # one evaluation that fails must not take the night's trials with it
                self.failures[key] = reason_of(error)
            else:
                self._on_outcome(key, outcome)


def _run(job: Job) -> Outcome:
    keep_to_share(given_gpus())
    return run_job(job)


def reason_of(error: BaseException | None) -> str:
    """Type and last line of what went wrong in a worker: the rest of its traceback names no cause."""
    cause = getattr(error, "cause", None) or error
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    return f"{type(cause).__name__}: {lines[-1]}" if lines else type(cause).__name__
