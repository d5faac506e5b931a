"""Ray Tune over a sweep's trials: what decides is the conductor, what is kept is in the ledger."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

from corpora.errors import StockpotError
from sweeps.conductor import Conductor
from sweeps.ledger_state import Trial
from sweeps.ray_cluster import trial_bundle


def tune(
    conductor: Conductor,
    job_of: Callable[[Trial], dict[str, Any]],
    on_report: Callable[[int, dict[str, Any]], None],
    on_turn: Callable[[], None],
) -> None:
    """Runs trials until the conductor starts no further one and each has ended.

    `job_of`: what a trial is started with (trainables/tune_trial.py); `on_report(ordinal, result)` and `on_turn` are
    called in Tune's own loop.
    """
    from ray.tune import (
        CheckpointConfig,
        FailureConfig,
        PlacementGroupFactory,
        RunConfig,
        TuneConfig,
        Tuner,
        with_resources,
    )
    from ray.tune.error import TuneError

    from sweeps.tune_adapter import ConductedScheduler, ConductedSearch
    from trainables.tune_trial import TuneTrial

    resources = conductor.config.resources
    bundle, labels = trial_bundle(resources)
    where = {"bundle_label_selector": [labels]} if labels else {}
    scheduler = ConductedScheduler(conductor, on_report, on_turn)
    with tempfile.TemporaryDirectory(
        prefix="stockpot-tune-"
    ) as scratch:  # Tune's own files: the ledger needs none of them
        tuner = Tuner(
            with_resources(TuneTrial, PlacementGroupFactory([bundle], **where)),
            tune_config=TuneConfig(
                search_alg=ConductedSearch(conductor, job_of, on_turn, scheduler.make_room),
                scheduler=scheduler,
                num_samples=-1,
                reuse_actors=True,
            ),
            run_config=RunConfig(
                storage_path=scratch,
                name="tune",
                verbose=0,
                failure_config=FailureConfig(max_failures=resources.max_failures),
                checkpoint_config=CheckpointConfig(checkpoint_frequency=0, checkpoint_at_end=False),
            ),
        )
        try:
            tuner.fit()
        except TuneError as error:  # what went wrong in the driver's own loop, as a traceback in text
            raise StockpotError(f"the sweep's loop ended: {str(error).strip().splitlines()[-1]}") from error
