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
_WORD = re.compile(r"\w")


def context_tokens(corpus: Corpus, table: ChunkTable) -> np.ndarray:
    """Tokens that begin in each chunk: int64 `[chunks]`."""
    found = np.zeros(len(table), np.int64)
    for place, document in enumerate(corpus.documents):
        rows = table.of(place)
        before = np.concatenate([[0], np.cumsum(_starts(document.text))])
        edges = before[table.span[rows]]
        found[rows] = edges[:, 1] - edges[:, 0]
    return found


def _starts(text: str) -> np.ndarray:
    """Whether a token begins at each character: bool `[characters]`; the expression, asked once a distinct character."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    word, sign = np.zeros((2, int(codes.max(initial=0)) + 1), bool)
    for character in set(text):
        word[ord(character)] = bool(_WORD.match(character))
        sign[ord(character)] = not word[ord(character)] and bool(TOKEN.match(character))
    within = word[codes]
    return sign[codes] | within & ~np.concatenate([[False], within[:-1]])


def taken(cost: np.ndarray, budget: int) -> np.ndarray:
    """How many of the ranked chunks fit, in rank order until the next would pass the budget: int64 `[queries]`.

    `cost` int64 `[queries, depth]`.
    """
    return (np.cumsum(cost, axis=1) <= budget).sum(axis=1)
