"""Quantisation-aware heads: what becomes of z, while training and when stored (DESIGN section 5).

`none`: z. `int8-absmax`: code = rint(127 z / max|z|), the maximum over all D. `int8-tanh`:
t = tanh z, code = rint(127 t). The same functions serve training, evaluation and export;
`evaluators.codes` is their reference in numpy. Codes come before the cut to d dimensions.
"""

from __future__ import annotations

import torch
from torch import Tensor

QUANTISERS = ("none", "int8-absmax", "int8-tanh")


def floats(z: Tensor, quantiser: str) -> Tensor:
    """The float32 vectors `[rows, D]` of z `[rows, D]`."""
    return torch.tanh(z) if quantiser == "int8-tanh" else z


def codes(z: Tensor, quantiser: str) -> Tensor:
    """int8 `[rows, D]`; `none` is stored with absmax. Worked out in float64, as the reference is."""
    if quantiser == "int8-tanh":
        return torch.round(127 * torch.tanh(z.double())).to(torch.int8)
    largest = _largest(z).double()
    scaled = 127 * z.double() / torch.where(largest > 0, largest, 1)
    return torch.round(scaled).to(torch.int8)


def trained(z: Tensor, quantiser: str) -> Tensor:
    """What the losses see `[rows, D]`: the decoded codes, with the gradient of the float32 vectors.

    Straight-through: x = y + stopgrad(decoded - y), y = z or tanh z. The scale of absmax is not
    differentiated.
    """
    if quantiser == "none":
        return z
    y = floats(z, quantiser)
    with torch.no_grad():
        scale = _largest(z) / 127 if quantiser == "int8-absmax" else 1 / 127
        correction = codes(z, quantiser).to(y.dtype) * scale - y
    return y + correction


def _largest(z: Tensor) -> Tensor:
    return z.detach().abs().amax(-1, keepdim=True)
