"""Long texts through a model of limited length: overlapped windows, framed by the model's specials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import tokenizers
import torch
from numpy.typing import NDArray

_TOKENS_PER_PASS = 8192


def windows(tokens: int, width: int) -> list[tuple[int, int]]:
    """Token ranges of at most `width` that cover the text; neighbours share a quarter of the width or more."""
    step = max(width - width // 4, 1)
    starts = range(0, max(tokens - width, 0) + step, step)
    return [(max(min(start, tokens - width), 0), min(start + width, tokens)) for start in starts]


@dataclass(frozen=True)
class Frame:
    """The specials around one or two texts, e.g. [CLS] a [SEP] b [SEP], with each one's segment."""

    gaps: tuple[tuple[tuple[int, int], ...], ...]
    segments: tuple[int, ...]

    @classmethod
    def of(cls, backend: tokenizers.Tokenizer, texts: int) -> Frame:
        """Read off what the tokenizer makes of `texts` short texts."""
        encoding = backend.encode(*["a"] * texts)
        gaps: list[list[tuple[int, int]]] = [[] for _ in range(texts + 1)]
        segments, gap = [0] * texts, 0
        for token, segment, owner in zip(encoding.ids, encoding.type_ids, encoding.sequence_ids, strict=True):
            if owner is None:
                gaps[gap].append((token, segment))
            else:
                segments[owner], gap = segment, owner + 1
        return cls(tuple(map(tuple, gaps)), tuple(segments))

    @property
    def specials(self) -> int:
        return sum(map(len, self.gaps))

    def around(self, *texts: NDArray) -> tuple[NDArray, NDArray, int]:
        """Token ids, segments, and where the last text starts."""
        pieces = [np.array(self.gaps[0]).reshape(-1, 2)]
        start = 0
        for place, ids in enumerate(texts):
            start = sum(map(len, pieces))
            pieces.append(np.column_stack([ids, np.full(len(ids), self.segments[place])]))
            pieces.append(np.array(self.gaps[place + 1]).reshape(-1, 2))
        ids, segments = np.concatenate(pieces).astype(np.int64).T
        return ids, segments, start


def limit_of(config, tokenizer_limit: int = 10**9) -> int:
    """Positions that a transformers model reads, specials included."""
    limit = getattr(config, "max_position_embeddings", None) or tokenizer_limit
    if config.model_type in {"roberta", "xlm-roberta", "camembert"}:
        limit -= config.pad_token_id + 1  # their positions are counted from the padding id on
    return limit


@torch.no_grad()
def run(model: torch.nn.Module, inputs: Sequence[tuple[NDArray, NDArray]]) -> Iterator[tuple[int, torch.Tensor]]:
    """(place in `inputs`, first output float32 [tokens, width]) for (ids, segments), in length-sorted batches."""
    order = sorted(range(len(inputs)), key=lambda place: (-len(inputs[place][0]), place))
    device = next(model.parameters()).device
    typed = getattr(model.config, "type_vocab_size", 0) > 1
    while order:
        widest = len(inputs[order[0]][0])
        batch, order = order[: max(_TOKENS_PER_PASS // widest, 1)], order[max(_TOKENS_PER_PASS // widest, 1) :]
        ids = torch.full((len(batch), widest), model.config.pad_token_id or 0)
        segments, mask = torch.zeros_like(ids), torch.zeros_like(ids)
        for row, place in enumerate(batch):
            count = len(inputs[place][0])
            ids[row, :count], segments[row, :count] = map(torch.from_numpy, inputs[place])
            mask[row, :count] = 1
        extra = {"token_type_ids": segments.to(device)} if typed else {}
        output = model(input_ids=ids.to(device), attention_mask=mask.to(device), **extra)[0].float().cpu()
        for row, place in enumerate(batch):
            yield place, output[row, : len(inputs[place][0])]
