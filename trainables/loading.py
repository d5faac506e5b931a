"""Transformers models without their noise: no bars, no reports, no random numbers drawn."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silences transformers' load reports and progress bars; errors still rise."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def encoder_from_config(folder: Path, attention: str, trust_remote_code: bool = False) -> nn.Module:
    """The architecture of a folder's config.json, weights still to come; torch's random numbers are left alone."""
    from transformers import AutoConfig, AutoModel

    with quiet(), torch.random.fork_rng():
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=trust_remote_code)
        return AutoModel.from_config(config, attn_implementation=attention, trust_remote_code=trust_remote_code).eval()


def pretrained_encoder(folder: Path, config: Any, trust_remote_code: bool = False) -> nn.Module:
    """float32 weights from safetensors; those that `config` has no place for (layers beyond its own) stay out."""
    from transformers import AutoModel

    with quiet(), torch.random.fork_rng():
        return AutoModel.from_pretrained(
            folder, config=config, dtype=torch.float32, use_safetensors=True, local_files_only=True,
            trust_remote_code=trust_remote_code,
        ).eval()


def pooler_of(encoder: nn.Module) -> list[nn.Parameter]:
    """BERT and its kin carry a pooler that mean pooling never reads; it stays, so that `AutoModel` finds its keys."""
    pooler = getattr(encoder, "pooler", None)
    return list(pooler.parameters()) if pooler is not None else []
