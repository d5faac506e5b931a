"""The baseline row: a sentence encoder that sees each chunk alone (DESIGN section 6, context)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn

from corpora.chunks import ChunkTable
from corpora.documents import Corpus
from corpora.tokens import Tokenizer
from evaluators.encoder import Encoded, Watch, unwatched
from trainables.base import MINILM, encoder_folder, frame_of
from trainables.layouts import Frame, Window, question
from trainables.loading import encoder_settings, pretrained_encoder
from trainables.pooling import mean_states


class IsolatedEncoder:
    """A pretrained transformer, all layers, mean over all positions: the text of each chunk on its own.

    A chunk longer than the model's window is read in pieces of like length and averaged over all of them.
    """

    contextual = False
    quantiser = "none"

    def __init__(self, encoder: nn.Module, tokenizer: Tokenizer, frame: Frame, name: str, budget: int | None = None):
        """`budget`: padded tokens of one pass; by default what suits the device."""
        self.encoder, self.tokenizer, self.frame, self.name, self.budget = encoder, tokenizer, frame, name, budget
        self.watch: Watch = unwatched
        self.dimension = encoder.config.hidden_size

    @classmethod
    def load(cls, encoder: str | Path = MINILM, name: str | None = None, device: str = "cpu") -> IsolatedEncoder:
        """`encoder`: `minilm` or a folder with a transformers encoder."""
        folder = encoder_folder(str(encoder))
        model = pretrained_encoder(folder, encoder_settings(folder)).to(device)
        return cls(model, Tokenizer.from_folder(folder), frame_of(model, folder), name or Path(encoder).name)

    def queries(self, texts: Sequence[str]) -> np.ndarray:
        """float32 `[queries, D]`; longer ones are read like chunks, so that nothing is cut."""
        return self._encode(texts)[0]

    def documents(self, corpus: Corpus, table: ChunkTable) -> Encoded:
        owners, spans = table.document.tolist(), table.span.tolist()
        texts = [corpus.documents[owner].text[start:end] for owner, (start, end) in zip(owners, spans, strict=True)]
        vectors, tokens, used = self._encode(texts)
        return Encoded(vectors, tokens, used, len(table), len(vectors))

    @torch.inference_mode()
    def _encode(self, texts: Sequence[str]) -> tuple[np.ndarray, int, int]:
        """(float32 `[texts, D]`, tokens of the texts, tokens that some window holds)."""
        ids = [ids for ids, _ in self.tokenizer.encode(texts)]
        windows = [window for row, one in enumerate(ids) for window in self._windows(one, row)]
        means = mean_states(self.encoder, windows, len(ids), self.frame.pad, budget=self.budget, watch=self.watch)
        used = sum(int((window.source >= 0).sum()) for window in windows)
        return means.cpu().numpy(), sum(map(len, ids)), used

    def _windows(self, ids: np.ndarray, row: int) -> list[Window]:
        pieces = max(-(-len(ids) // self.frame.capacity), 1)
        return [question(piece, self.frame, row) for piece in np.array_split(ids, pieces)]
