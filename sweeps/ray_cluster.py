"""The Ray cluster that a sweep runs on, and what its workers' environment must hold."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
from collections.abc import Iterator
from typing import Any

from corpora.errors import StockpotError
from sweeps.collector import collector_paused
from sweeps.config import Resources, SweepConfig
from sweeps.interruptible import handlers_kept
from sweeps.space import candidates

WORKER_ENVIRONMENT = {
    # Without these glibc returns every large activation to the system and faults its pages in again:
    # a third of a CPU training step (docs/log.md).
    "MALLOC_MMAP_THRESHOLD_": "4000000000",
    "MALLOC_TRIM_THRESHOLD_": "8000000000",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "PYTHONWARNINGS": "ignore",
}
RAY_ENVIRONMENT = {
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_raylet_start_wait_time_s": "180",  # a busy machine takes longer than Ray's 30 s
    "RAY_TRAIN_V2_ENABLED": "1",
    "RAY_AIR_NEW_OUTPUT": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_RESULT_BUFFER_LENGTH": "1",
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "1000000000",
}


ACCELERATOR = "ray.io/accelerator-type"
"""Ray's label of a node with GPUs: A100, H100, ...; it finds the value itself."""


def trial_bundle(resources: Resources) -> tuple[dict[str, float], dict[str, str]]:
    """What one trial asks Ray for, and the labels of the nodes that may give it."""
    memory = {"memory": resources.memory * 1e9} if resources.memory else {}
    gpus = {"GPU": resources.gpus} if resources.gpus else {}
    return {"CPU": resources.cpus, **gpus, **memory}, {ACCELERATOR: resources.gpu_type} if resources.gpu_type else {}


def evaluation_options(resources: Resources) -> dict[str, Any]:
    """Of Ray's tasks: an evaluation, one process, takes what a trial takes, unless told otherwise; one without a GPU may run anywhere."""
    gpus = min(resources.gpus, 1) if resources.evaluation_gpus is None else resources.evaluation_gpus
    labels = {"label_selector": {ACCELERATOR: resources.gpu_type}} if gpus and resources.gpu_type else {}
    return {"num_cpus": resources.evaluation_cpus or resources.cpus, "num_gpus": gpus, **labels}


@contextlib.contextmanager
def ray_cluster(config: SweepConfig) -> Iterator[None]:
    """A Ray cluster of this machine, or the one that RAY_ADDRESS names."""
    for name, value in RAY_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("TUNE_MAX_PENDING_TRIALS_PG", str(config.resources.slots))
    import ray

    from sweeps.machines import this_machine

    threads = max(candidates(config.space.entries.get("threads", 1)))
    environment = {**WORKER_ENVIRONMENT, "OMP_NUM_THREADS": str(threads)}
    if config.resources.gpus:
        environment["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "1"  # an evaluation that asked for no GPU takes none from a trial
    common = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if os.environ.get("RAY_ADDRESS"):
            with handlers_kept():
                ray.init(runtime_env={"env_vars": environment}, **common)
        else:
            os.environ.update(environment)  # a local cluster's workers inherit it, and start faster than with a runtime_env
            # One more than the machine has: a lane in which evaluations go on while every slot holds a trial.
            asked = config.resources
            cpus = 1 + max(os.cpu_count() or 1, int(asked.slots * asked.cpus), int(asked.evaluation_cpus or 0))
            local = {"num_cpus": cpus, "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
            if asked.memory:  # else Ray counts what is free now, and a trial may wait for ever
                local["_memory"] = int(1e9 * this_machine().memory_gb)
            with handlers_kept():
                ray.init(object_store_memory=200_000_000, **local, **common)
    except Exception as error:  # Ray raises plain ones
        raise StockpotError(f"Ray did not start: {str(error).strip().splitlines()[0]}") from error
    for name in ("ray", "ray.tune", "ray.train"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # failures are told by the ledger, with their reasons
    try:
        yield
    finally:
        # An object of Ray's that another thread frees while Ray ends, as the collector does, ends the process with it.
        gc.collect()
        with collector_paused(), handlers_kept():  # Ray takes our handlers away: what follows, as the soup, would die without a word
            ray.shutdown()
