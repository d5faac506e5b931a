"""The torch head equals the numpy reference that evaluates, and passes the stated gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from evaluators.codes import stored
from trainables import heads


def vectors() -> np.ndarray:
    """Random rows, a zero row, and halves that only round-half-to-even gets right."""
    drawn = np.random.default_rng(0).standard_normal((50, 12)).astype(np.float32)
    halves = np.arange(12, dtype=np.float32) + 0.5
    halves[0] = 127
    return np.concatenate([drawn, np.zeros((1, 12), np.float32), halves[None], -halves[None]])


@pytest.mark.parametrize("quantiser", heads.QUANTISERS)
def test_codes_and_floats_equal_the_reference(quantiser):
    z = vectors()
    assert (heads.codes(torch.from_numpy(z), quantiser).numpy() == stored(z, "int8", quantiser)).all()
    np.testing.assert_allclose(heads.floats(torch.from_numpy(z), quantiser).numpy(), stored(z, "float32", quantiser), atol=1e-7)


@pytest.mark.parametrize("quantiser", heads.QUANTISERS)
def test_training_sees_the_stored_codes(quantiser):
    """In the same direction, so every cosine agrees; at every cut."""
    z = torch.from_numpy(vectors()[:50])
    seen, code = heads.trained(z, quantiser), heads.codes(z, quantiser).float()
    kept = seen if quantiser != "none" else heads.trained(z, "int8-absmax")
    for d in (12, 5):
        np.testing.assert_allclose(torch.cosine_similarity(kept[:, :d], code[:, :d]).numpy(), 1, atol=1e-6)


def test_gradients_pass_straight_through():
    z = torch.from_numpy(vectors()).requires_grad_()
    weight = torch.arange(1, z.numel() + 1, dtype=torch.float32).reshape(z.shape)
    expected = {"none": weight, "int8-absmax": weight, "int8-tanh": weight * (1 - torch.tanh(z.detach()) ** 2)}
    for quantiser, gradient in expected.items():
        (found,) = torch.autograd.grad((heads.trained(z, quantiser) * weight).sum(), z)
        torch.testing.assert_close(found, gradient)


def test_a_zero_vector_stays_zero_and_finite():
    z = torch.zeros(1, 4, requires_grad=True)
    for quantiser in heads.QUANTISERS:
        out = heads.trained(z, quantiser)
        assert (out == 0).all() and torch.autograd.grad(out.sum(), z)[0].isfinite().all()
