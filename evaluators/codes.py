"""What is stored of a vector: float32, int8 or binary, and the cut to d dimensions (DESIGN section 5).

The numpy reference of the torch head that trains and exports; queries and documents share one code.
"""

from __future__ import annotations

import numpy as np

PRECISIONS = ("float32", "int8", "binary")
QUANTISERS = ("none", "int8-absmax", "int8-tanh")

_BITS = {"float32": 32, "int8": 8, "binary": 1}


def stored(z: np.ndarray, precision: str, quantiser: str = "none", dimension: int | None = None) -> np.ndarray:
    """Codes `[rows, d]` of the projected vectors `z` `[rows, D]`: coded whole, then cut to the first `dimension`.

    `float32`: z itself, or tanh z for `int8-tanh`. `int8`: rint(127 z / max|z|), the maximum over all D, or
    rint(127 tanh z); `none` is evaluated in int8 with absmax. `binary`: +1 or -1 as int8, sign(0) = +1.
    Worked out in float64, where the quotient of two float32 numbers never rounds onto a half.
    """
    if quantiser not in QUANTISERS:
        raise ValueError(f"quantiser {quantiser!r}: allowed are {', '.join(QUANTISERS)}")
    if precision == "binary":
        return np.where(z[:, :dimension] >= 0, np.int8(1), np.int8(-1))
    if precision == "float32":
        return np.tanh(z[:, :dimension]) if quantiser == "int8-tanh" else z[:, :dimension]
    if precision != "int8":
        raise ValueError(f"precision {precision!r}: allowed are {', '.join(PRECISIONS)}")
    if quantiser == "int8-tanh":
        return np.rint(127 * np.tanh(z[:, :dimension].astype(np.float64))).astype(np.int8)
    largest = np.abs(z).max(axis=1, keepdims=True, initial=0).astype(np.float64)
    cut = 127 * z[:, :dimension].astype(np.float64)
    return np.rint(np.divide(cut, largest, out=np.zeros_like(cut), where=largest > 0)).astype(np.int8)


def bytes_per_vector(dimension: int, precision: str) -> int:
    """Bytes that one stored vector takes in an index; the cosine needs no scale beside the codes."""
    return -(-dimension * _BITS[precision] // 8)
