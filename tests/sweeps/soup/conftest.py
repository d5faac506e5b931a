"""Checkpoint folders of a few numbers each, in the real format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from trainables import checkpoints
from trainables.layouts import Frame

SHAPES = {"encoder.rows": (7, 3), "encoder.bias": (3,), "encoder.scalar": (), "projection.weight": (3, 3)}


@pytest.fixture
def make(tmp_path):
    """make(name, seed, **changes) -> a checkpoint folder; `base` is made first, other names grow from it."""

    def build(name: str, seed: int, tensors: dict | None = None, **changes) -> Path:
        rng = np.random.default_rng(seed)
        drawn = {
            key: torch.from_numpy(np.asarray(rng.standard_normal(shape), np.float32)) for key, shape in SHAPES.items()
        }
        drawn["encoder.positions"] = torch.arange(5)
        about = {
            "base": "b0", "encoder": "tiny", "layers": 1, "dimension": 3, "base_seed": 0,
            "frame": Frame(start=(1,), end=(2,), separator=3, pad=0, window=64),
        }  # fmt: skip
        if name != "base":
            about |= {"base_weights": checkpoints.manifest(tmp_path / "base").base_weights, "step": 20, "seed": seed}
        return checkpoints.write(
            tmp_path / name,
            drawn | (tensors or {}),
            {"tokenizer.json": b"{}", "config.json": b"{}"},
            **(about | changes),
        )

    return build
