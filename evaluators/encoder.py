"""What can be evaluated: encoders of chunks, and scorers that are no vector models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from corpora.chunks import ChunkTable
from corpora.documents import Corpus
from corpora.errors import NonFinite, StockpotError
from corpora.tokens import Tokenizer


Watch = Callable[[int, int], None]
"""Hears how many tokens an encoder has read, and of how many: progress. Encoders that can tell have it as `watch`."""


def unwatched(read: int, whole: int) -> None:
    """Nobody listens."""


@dataclass(frozen=True)
class Encoded:
    """Chunk vectors z `[chunks, dimension]` in the table's order, and the account of what went into them.

    tokens_in: tokens of the documents as the chunking hands them over; tokens_used: those that reached the model.
    """

    vectors: np.ndarray
    tokens_in: int
    tokens_used: int
    chunks_in: int
    vectors_out: int


@runtime_checkable
class Encoder(Protocol):
    """Turns queries and whole documents into vectors z: after the projection, before any quantisation."""

    name: str
    dimension: int
    quantiser: str
    """`none`, `int8-absmax` or `int8-tanh` (`evaluators.codes`)."""
    contextual: bool
    """Whether a chunk's vector knows its document; if not, the context suite also encodes whole documents."""
    tokenizer: Tokenizer | None
    """Cuts `tokens:N`; None where only chunkings of the text itself can be encoded."""

    def queries(self, texts: Sequence[str]) -> np.ndarray:
        """float32 `[queries, dimension]`."""

    def documents(self, corpus: Corpus, table: ChunkTable) -> Encoded:
        """All chunks of the table."""


@runtime_checkable
class Scorer(Protocol):
    """Scores chunks without vectors, as BM25 does."""

    name: str
    contextual: bool
    tokenizer: Tokenizer | None

    def scores(self, texts: Sequence[str], corpus: Corpus, table: ChunkTable) -> np.ndarray:
        """float32 `[queries, chunks]` of the query texts against the table's chunks."""


class Truncated(StockpotError):
    """An encoder that dropped tokens or chunks: what it returns cannot be evaluated."""


def encode_documents(encoder: Encoder, corpus: Corpus, table: ChunkTable) -> Encoded:
    """The encoder's vectors, once its account adds up."""
    encoded = encoder.documents(corpus, table)
    where = f"{encoder.name} on {corpus.name}, chunking {table.chunking}"
    if encoded.tokens_in != encoded.tokens_used:
        raise Truncated(f"{where}: {encoded.tokens_in} tokens in, {encoded.tokens_used} used. "
                        "Nothing may be dropped silently: read long inputs in windows")
    counts = (len(table), encoded.chunks_in, encoded.vectors_out, len(encoded.vectors))
    if len(set(counts)) > 1:
        raise Truncated("{}: {} chunks, {} in, {} vectors reported, {} returned".format(where, *counts))
    _check(encoded.vectors, encoder, f"{where}, chunk vectors")
    return encoded


def encode_queries(encoder: Encoder, corpus: Corpus) -> np.ndarray:
    """Vectors of all queries of the corpus, in its order."""
    vectors = encoder.queries([query.text for query in corpus.queries])
    where = f"{encoder.name} on {corpus.name}, query vectors"
    if len(vectors) != len(corpus.queries):
        raise Truncated(f"{where}: {len(corpus.queries)} queries, {len(vectors)} vectors")
    _check(vectors, encoder, where)
    return vectors


def _check(vectors: np.ndarray, encoder: Encoder, where: str) -> None:
    if vectors.ndim != 2 or vectors.shape[1] != encoder.dimension:
        raise Truncated(f"{where}: shape {vectors.shape}, expected [rows, {encoder.dimension}]")
    if not all(np.isfinite(vectors[start:start + 65536]).all() for start in range(0, len(vectors), 65536)):
        raise NonFinite(f"{where}: not all numbers are finite")
