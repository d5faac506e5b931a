"""Evaluations as Ray tasks beside the trials, outside any trial's placement group.

They are submitted and collected by the driver's own loop, so that one thread writes the ledger.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable

import ray

from corpora.mirror import Mirror
from sweeps.config import Resources
from sweeps.evaluations import SCORES, Job, Outcome, run_job
from sweeps.ray_cluster import evaluation_options
from trainables.gpu_share import given_gpus, keep_to_share


class EvaluationPool:
    """`on_outcome(key, outcome)` is called from `collect`; what failed is kept in `failures`."""

    def __init__(self, on_outcome: Callable[[Hashable, Outcome], None], resources: Resources, mirror: Mirror | None = None):
        """`mirror`: of the sweep's folder, where machines share no disk."""
        self._on_outcome, self._mirror = on_outcome, mirror
        self._storage = (str(mirror.root), mirror.uri) if mirror else None
        self._task = ray.remote(max_retries=3, **evaluation_options(resources))(_run)
        self._pending: dict[ray.ObjectRef, Hashable] = {}
        self.failures: dict[Hashable, str] = {}

    def submit(self, key: Hashable, job: Job) -> None:
        self._pending[self._task.remote(job, self._storage)] = key

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
                if self._mirror:
                    self._mirror.have_files(f"{SCORES}/{outcome.per_query.stem}.*")
                self._on_outcome(key, outcome)


def _run(job: Job, storage: tuple[str, str] | None) -> Outcome:
    keep_to_share(given_gpus())
    if storage is None:
        return run_job(job)
    mirror = Mirror(*storage)
    mirror.have(place for place in (job.model, job.tokenizer, *job.corpora) if os.path.isabs(place))
    outcome = run_job(job)
    mirror.keep(sorted(outcome.per_query.parent.glob(f"{outcome.per_query.stem}.*")))
    return outcome


def reason_of(error: BaseException | None) -> str:
    """Type and last line of what went wrong in a worker: the rest of its traceback names no cause."""
    cause = getattr(error, "cause", None) or error
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    return f"{type(cause).__name__}: {lines[-1]}" if lines else type(cause).__name__
