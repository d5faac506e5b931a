"""Several workers on one GPU: each keeps to the part of its memory that it was given."""

from __future__ import annotations


def keep_to_share(gpus: float) -> None:
    """Of `gpus` below 1, this process allocates no more than that part of the GPU's memory: one that needs more fails alone."""
    if not 0 < gpus < 1:
        return
    import torch

    if torch.cuda.is_available():
        torch.cuda.set_per_process_memory_fraction(gpus)


def given_gpus() -> float:
    """What Ray gave this worker."""
    import ray

    return ray.get_runtime_context().get_assigned_resources().get("GPU", 0.0)
