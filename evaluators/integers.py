"""Products of int8 codes as the integers that they are, at every dimension, by the fastest kernel that is exact.

With the processor's VNNI instructions (x86) torch multiplies int8 several times faster than float32. Without them its
kernel saturates 16 bits silently (github.com/pytorch/pytorch/issues/136746), so there float32 products of a few
dimensions each are added up as integers.
"""

from __future__ import annotations

from functools import cache

import numpy as np

EXACT = 1024
"""Dimensions over which any sum of products of two int8 fits the 24 bits of a float32: 1024 * 128^2 = 2^24."""
SMALL = 1 << 27
"""Multiplications that float32 does within about a millisecond: not worth loading torch for."""


def product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """`left @ right.T` of int8 `[n, d]` and `[m, d]`: int32 `[n, m]`, exact up to 131,071 dimensions."""
    fast = left.size * len(right) > SMALL and min(*left.shape, len(right)) > 1 and _has_vnni()
    return by_vnni(left, right) if fast else by_floats(left, right)


def by_floats(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    found = np.zeros((len(left), len(right)), np.int32)
    for start in range(0, left.shape[1], EXACT):
        part = slice(start, start + EXACT)
        found += (left[:, part].astype(np.float32) @ right[:, part].astype(np.float32).T).astype(np.int32)
    return found


def by_vnni(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Of two rows a side and two dimensions at least: the kernel writes nothing where a dimension of 1 hides a stride
    (issue 195066 there)."""
    import torch

    # Rows that follow one another, in memory that may be written: a read-only map is copied.
    left, right = (torch.from_numpy(np.require(each, np.int8, ["C", "W"])) for each in (left, right))
    return torch._int_mm(left, right.T).numpy()


@cache
def _has_vnni() -> bool:
    import torch

    return torch.backends.mkldnn.is_available() and bool(torch.cpu.get_capabilities().get("avx512_vnni"))
