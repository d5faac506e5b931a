"""One batch over several processes, as torch.distributed started them; alone without it.

Every process encodes its share of the documents and pairs, gathers the vectors of all, and
works out the whole loss. The gradient at its own vectors, which it keeps, counts every pair
of every process: the gradient flows through the gathering. Summed over the processes, the
parameters' gradients are those of one process with the whole batch.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor


def count() -> int:
    return dist.get_world_size() if _started() else 1


def rank() -> int:
    return dist.get_rank() if _started() else 0


def shares(items: int) -> list[NDArray]:
    """The places of the items that each process takes, in order and of like number."""
    return np.array_split(np.arange(items), count())


def gather(own: Tensor, sizes: list[int]) -> Tensor:
    """Rows [sizes[rank], D] of every process, one after another: [sum(sizes), D]."""
    if count() == 1:
        return own
    padded = own.new_zeros(max(sizes), own.shape[1])
    padded[: len(own)] = own.detach()
    found = [torch.empty_like(padded) for _ in sizes]
    dist.all_gather(found, padded)
    return torch.cat([rows[:size] for rows, size in zip(found, sizes, strict=True)])


def add_gradients(parameters: Iterable[torch.nn.Parameter]) -> None:
    """Sums the gradients over the processes."""
    if count() > 1:
        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            dist.all_reduce(parameter.grad)


def wait() -> None:
    """Until every process has come here."""
    if count() > 1:
        dist.barrier()


def _started() -> bool:
    return dist.is_available() and dist.is_initialized()
