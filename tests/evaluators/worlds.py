"""Small random corpora that hold what goes wrong, and encoders whose vectors are given."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from corpora.documents import Corpus, Document, Query, Target
from evaluators.encoder import Encoded


class Given:
    """An encoder of one corpus: float32 vectors by position."""

    name, quantiser, contextual, tokenizer = "given", "none", True, None

    def __init__(self, queries, chunks):
        self._queries, self._chunks = queries, chunks
        self.dimension = queries.shape[1]

    def queries(self, texts):
        return self._queries

    def documents(self, corpus, table):
        return Encoded(self._chunks, 0, 0, len(self._chunks), len(self._chunks))


def word_tokenizer():
    """One token a word or sign."""
    from tokenizers import Tokenizer as Backend
    from tokenizers import models, pre_tokenizers

    from corpora.tokens import Tokenizer

    backend = Backend(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    return Tokenizer(backend.to_str().encode())


def random_world(seed, documents=9, queries=12, dimension=6):
    """A corpus with given chunks, and float32 vectors full of ties, zeros and twins."""
    rng = np.random.default_rng(seed)
    made = [_document(rng, name) for name in rng.permutation(_names(documents))]
    for place in rng.choice(documents, 2, replace=False):
        made[place] = replace(made[place], text=made[0].text)  # Twins, perhaps cut in another way.
    corpus = Corpus("world", tuple(made), tuple(_query(rng, number, made) for number in range(queries)))
    chunks = sum(len(document.chunks) for document in made)
    grid = rng.integers(-2, 3, (chunks, dimension)).astype(np.float32)  # Few values: many exact ties.
    grid[rng.integers(chunks, size=chunks // 4)] *= np.float32(0.1)
    grid[rng.integers(chunks, size=2)] = 0
    return corpus, rng.integers(-2, 3, (queries, dimension)).astype(np.float32), grid


def _names(count):
    return ["a", "a b", "a%b", "a#000000", "10", "9", "lease\u00a01", "Ä", "🙂", "z", "zz", "0"][:count]


def _document(rng, name):
    text = "y" + "".join(rng.choice(list("abc  "), 38)) + "z"
    edges = np.unique(np.concatenate([[0, len(text)], rng.integers(1, len(text), 6)])).tolist()
    chunks = [(start, end) for start, end in itertools.pairwise(edges) if text[start:end].strip()]
    if rng.random() < 0.5:
        start, end = sorted(rng.choice(len(text), 2, replace=False).tolist())
        chunks.append((start, end + 1))  # Overlaps others.
    if rng.random() < 0.3:
        chunks.pop(int(rng.integers(len(chunks))))  # Text in no chunk.
    return Document(str(name), text, chunks=tuple(chunks))


def _span(rng, text):
    while True:
        start, end = sorted(rng.choice(len(text) + 1, 2, replace=False).tolist())
        end = min(end, start + int(rng.integers(1, 9)))
        if text[start:end].strip():
            return start, end


def _query(rng, number, documents):
    targets = []
    for _ in range(rng.integers(1, 4)):
        document = documents[rng.integers(len(documents))]
        spans = [_span(rng, document.text) for _ in range(rng.integers(0, 3))]
        evidence = tuple(
            tuple(tuple(_span(rng, document.text) for _ in range(rng.integers(1, 3))) for _ in range(rng.integers(1, 3)))
            for _ in range(rng.integers(0, 3)))
        targets.append(Target(document.id, int(rng.integers(-1, 4)), tuple(spans), evidence))
    return Query(f"q {number}", "same text", tuple(targets))
