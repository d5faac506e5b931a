"""Transformers models without their noise: no bars, no reports, no random numbers drawn."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import torch
from torch import nn

from corpora.errors import InputError, Problem, StockpotError

WHAT = "a transformers encoder"


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


@contextlib.contextmanager
def as_input(folder: Path, what: str) -> Iterator[None]:
    """Whatever a library raises at somebody else's folder, as one problem of the input."""
    try:
        yield
    except (StockpotError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # JSON, Unicode, types, safetensors: the libraries let all through
        first = (str(error).strip().splitlines() or [""])[0]
        raise InputError(Problem(str(folder), f"cannot be loaded as {what}: {type(error).__name__}: {first}")) from error


_TRUSTED: ContextVar[bool] = ContextVar("trusted", default=False)


@contextlib.contextmanager
def trusting(yes: bool) -> Iterator[None]:
    """While it is open, encoders may bring code of their own and it is run: `student.trust_remote_code`.

    Nothing that a folder says of itself can open it: only the config of the sweep that loads it.
    """
    before = _TRUSTED.set(yes)
    try:
        yield
    finally:
        _TRUSTED.reset(before)


def encoder_settings(folder: Path) -> Any:
    """The config of a transformers folder."""
    from transformers import AutoConfig

    try:
        with quiet(), as_input(folder, WHAT):
            return AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=_TRUSTED.get())
    except InputError as error:
        if "trust_remote_code" not in str(error.__cause__):
            raise
        raise InputError(Problem(str(folder), "its encoder is code of its own, which runs only where the sweep says "
                                 "`student.trust_remote_code: true`: read the folder's *.py first")) from None  # fmt: skip


def encoder_from_config(folder: Path, attention: str) -> nn.Module:
    """The architecture of a folder's config.json, weights still to come; torch's random numbers are left alone."""
    from transformers import AutoModel

    config = encoder_settings(folder)
    with quiet(), as_input(folder, WHAT), torch.random.fork_rng():
        return AutoModel.from_config(config, attn_implementation=attention, trust_remote_code=_TRUSTED.get()).eval()


def pretrained_encoder(folder: Path, config: Any) -> nn.Module:
    """float32 weights from safetensors; those that `config` has no place for (layers beyond its own) stay out."""
    from transformers import AutoModel

    with quiet(), as_input(folder, WHAT), torch.random.fork_rng():
        return AutoModel.from_pretrained(
            folder, config=config, dtype=torch.float32, use_safetensors=True, local_files_only=True,
            trust_remote_code=_TRUSTED.get(),
        ).eval()


def pooler_of(encoder: nn.Module) -> list[nn.Parameter]:
    """BERT and its kin carry a pooler that mean pooling never reads; it stays, so that `AutoModel` finds its keys."""
    pooler = getattr(encoder, "pooler", None)
    return list(pooler.parameters()) if pooler is not None else []
