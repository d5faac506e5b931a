"""Windows through the encoder to mean vectors, in batches of like length (DESIGN section 5, Layout)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from trainables.layouts import Window

TOKENS_PER_PASS = {"cpu": 2048, "cuda": 65536}
"""Padded tokens of one pass. On a CPU a few windows at a time are faster than many: little is padded and
the activations stay near the caches (16 windows of 200 to 450 tokens: 2.7 s against 3.6 s a step)."""


def mean_states(
    encoder: nn.Module, windows: Sequence[Window], rows: int, pad: int, *, bf16: bool = False, budget: int | None = None,
    watch: Callable[[int, int], None] = lambda read, whole: None,
) -> Tensor:
    """float32 `[rows, hidden]`: row r is the mean of the last hidden states at all positions that belong to r.

    A row without positions is 0. The encoder runs under bf16 autocast if asked; means never do. `budget`
    bounds the padded tokens of a pass and does not change the values beyond rounding. `watch` hears how far it is.
    """
    device = encoder.device
    budget = budget or TOKENS_PER_PASS.get(device.type, TOKENS_PER_PASS["cuda"])
    weights = _weights(windows, rows)
    means = torch.zeros(rows, encoder.config.hidden_size, device=device)
    lengths = [len(window.ids) for window in windows]
    read, whole = 0, sum(lengths)
    for group in passes(lengths, budget):
        ids, mask, positions = padded([windows[place] for place in group], pad)
        owner = np.concatenate([windows[place].rows for place in group])
        with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            states = encoder(
                input_ids=ids.to(device), attention_mask=None if mask is None else mask.to(device),
            ).last_hidden_state
        taken = states.flatten(0, 1)[positions.to(device)].float()
        weight = torch.from_numpy(weights[owner]).to(device)
        means.index_add_(0, torch.from_numpy(owner).to(device), taken * weight[:, None])
        read += sum(lengths[place] for place in group)
        watch(read, whole)
    return means


def passes(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Places of the windows of each pass: of like length, longest first, at most `budget` padded tokens
    (a single longer window is a pass of its own)."""
    order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    while order:
        count = max(budget // lengths[order[0]], 1)
        yield order[:count]
        order = order[count:]


def padded(windows: Sequence[Window], pad: int) -> tuple[Tensor, Tensor | None, Tensor]:
    """(ids int64 [batch, tokens], mask int64 [batch, tokens], flat places int64 [pooled]).

    No mask where nothing is padded: attention without one is faster.
    """
    longest = max(len(window.ids) for window in windows)
    ids = np.full((len(windows), longest), pad, np.int64)
    mask = np.zeros((len(windows), longest), np.int64)
    for place, window in enumerate(windows):
        ids[place, : len(window.ids)] = window.ids
        mask[place, : len(window.ids)] = 1
    positions = np.concatenate([place * longest + window.positions for place, window in enumerate(windows)])
    return torch.from_numpy(ids), None if mask.all() else torch.from_numpy(mask), torch.from_numpy(positions)


def _weights(windows: Sequence[Window], rows: int) -> np.ndarray:
    """float32 [rows]: one over the number of positions that belong to each row."""
    owners = np.concatenate([np.empty(0, np.int64), *(window.rows for window in windows)])
    counts = np.bincount(owners, minlength=rows)
    return (1 / np.maximum(counts, 1)).astype(np.float32)
