"""Context tokens: what a reader of the retrieved chunks pays, counted alike for every encoder.

The stated tokenizer is the expression below (runs of word characters, and every other visible character on its own):
it belongs to no model, so that a budget of 2,000 tokens is the same text for all.
"""

from __future__ import annotations

import re

import numpy as np

from corpora.chunks import ChunkTable
from corpora.documents import Corpus

TOKEN = re.compile(r"\w+|[^\w\s]")


def context_tokens(corpus: Corpus, table: ChunkTable) -> np.ndarray:
    """Tokens that begin in each chunk: int64 `[chunks]`."""
    found = np.zeros(len(table), np.int64)
    for place, document in enumerate(corpus.documents):
        rows = table.of(place)
        starts = np.array([match.start() for match in TOKEN.finditer(document.text)], np.int64)
        edges = np.searchsorted(starts, table.span[rows])
        found[rows] = edges[:, 1] - edges[:, 0]
    return found


def taken(cost: np.ndarray, budget: int) -> np.ndarray:
    """How many of the ranked chunks fit, in rank order until the next would pass the budget: int64 `[queries]`.

    `cost` int64 `[queries, depth]`.
    """
    return (np.cumsum(cost, axis=1) <= budget).sum(axis=1)
