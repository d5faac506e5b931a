"""Late chunking with a plain transformers encoder: a document is read whole, a chunk is its tokens' mean state."""

from __future__ import annotations

import math

import numpy as np
import torch

from corpora.chunks import ChunkTable
from corpora.documents import Corpus
from evaluators.encoder import Encoded
from trainables.baselines import IsolatedEncoder
from trainables.layouts import Frame, Window
from trainables.pooling import mean_states


class LateEncoder(IsolatedEncoder):
    """The isolated encoder's twin that sees the document: no separators, nothing trained. Queries are read the same."""

    contextual = True

    @torch.inference_mode()
    def documents(self, corpus: Corpus, table: ChunkTable) -> Encoded:
        """All chunks of the table; documents longer than the window are read in overlapping ones."""
        if table.tokens is None:
            raise ValueError(f"the chunk table {table.chunking} was cut without this encoder's tokenizer")
        windows, tokens, read = [], 0, 0
        for place, (ids, _) in enumerate(self.tokenizer.encode([document.text for document in corpus.documents])):
            rows = table.of(place)
            own = late_windows(ids, table.tokens[rows], self.frame, rows.start)
            tokens += len(ids)
            read += len(np.unique([token for window in own for token in window.source.tolist() if token >= 0]))
            windows += own
        means = mean_states(self.encoder, windows, len(table), self.frame.pad, budget=self.budget, watch=self.watch)
        vectors = means.cpu().numpy()
        return Encoded(vectors, tokens, read, len(table), len(vectors))


def late_windows(ids: np.ndarray, chunks: np.ndarray, frame: Frame, first_row: int) -> list[Window]:
    """Windows of like length over a document's ids [tokens], a quarter shared with the next; chunk j of `chunks`
    int [chunks, 2], token ranges, is pooled into row first_row + j.

    A token's state is taken from the window in which its smaller distance to an edge is largest (the first of equals);
    the document's ends are no edge.
    """
    size = min(frame.capacity, len(ids))
    if not size:
        return []
    count = 1 if size == len(ids) else 1 + math.ceil((len(ids) - size) / max(size - size // 4, 1))
    starts = np.linspace(0, len(ids) - size, count).round().astype(np.int64)
    place = np.arange(len(ids))
    left = np.where(starts[:, None] == 0, np.inf, place - starts[:, None])
    right = np.where(starts[:, None] + size == len(ids), np.inf, starts[:, None] + size - 1 - place)
    inside = (place >= starts[:, None]) & (place < starts[:, None] + size)
    home = np.where(inside, np.minimum(left, right), -1).argmax(axis=0)
    return [_window(ids, chunks, frame, first_row, start, size, home == number)
            for number, start in enumerate(starts.tolist())]


def _window(
    ids: np.ndarray, chunks: np.ndarray, frame: Frame, first_row: int, start: int, size: int, own: np.ndarray,
) -> Window:
    """`own`: bool [tokens of the document], those whose state this window gives."""
    framed = np.concatenate([frame.start, ids[start:start + size], frame.end]).astype(np.int32)
    source = np.full(len(framed), -1, np.int32)
    source[len(frame.start):len(frame.start) + size] = np.arange(start, start + size)
    positions, rows = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for row, (first, last) in enumerate(np.asarray(chunks).tolist(), first_row):
        taken = first + np.flatnonzero(own[first:last])
        positions.append(len(frame.start) + taken - start)
        rows.append(np.full(len(taken), row))
    return Window(framed, source, np.concatenate(positions), np.concatenate(rows))
