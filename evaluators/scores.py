"""Exact scores of DESIGN section 6, block by block: a fast product with a known error, and the exact value of any pair.

A score is dot / sqrt(|q|^2 |c|^2) in float64, rounded to float32 once. The float64 sum runs row by row, so that it
does not depend on where a vector stands in the index: equal vectors tie exactly. Sums over int8 codes are integers
below 2^53, exact in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from evaluators.integers import product

RESCORED = 1 << 18
"""Numbers that are copied to float64 at once: 2 MiB a copy, which stay in the processor's cache."""


class Scores(Protocol):
    """Scores of every query against every chunk, never all at once."""

    shape: tuple[int, int]
    margin: float
    """|block - exact| is never larger; 0 where blocks are exact."""

    def block(self, start: int, stop: int) -> np.ndarray:
        """float32 `[queries, stop - start]` against the chunks start:stop."""

    def exact(self, query: np.ndarray, chunk: np.ndarray) -> np.ndarray:
        """float32 `[pairs]`: the score of each pair of positions."""

    def within(self, query: Sequence[int], start: int, stop: int) -> np.ndarray:
        """Exact scores float32 `[len(query), stop - start]` of some queries against the chunks start:stop."""


class MatrixScores:
    """Scores that someone else worked out, as a float32 matrix `[queries, chunks]`: BM25 and its like."""

    margin = 0.0

    def __init__(self, matrix: np.ndarray):
        self.matrix = np.asarray(matrix, np.float32)
        self.shape = self.matrix.shape

    def block(self, start: int, stop: int) -> np.ndarray:
        return self.matrix[:, start:stop]

    def exact(self, query: np.ndarray, chunk: np.ndarray) -> np.ndarray:
        return self.matrix[query, chunk]

    def within(self, query: Sequence[int], start: int, stop: int) -> np.ndarray:
        return self.matrix[query, start:stop]


class CosineScores:
    """Cosines of stored vectors: `queries` `[queries, d]` and `chunks` `[chunks, d]`, perhaps mapped.

    A block is a float32 product of unit vectors: two roundings a side and d additions in any order are wrong by at
    most (d + 8) 2^-24, because the |q_i c_i| of unit vectors add up to 1 at most.
    """

    def __init__(self, queries: np.ndarray, chunks: np.ndarray):
        if queries.dtype != chunks.dtype:
            raise ValueError(f"queries are {queries.dtype}, chunks {chunks.dtype}: both sides share one code")
        self.queries, self.chunks = np.asarray(queries), np.asarray(chunks)
        self.shape = (len(queries), len(chunks))
        self.margin = (queries.shape[1] + 8) * 2.0**-24
        self.squares = squares(self.queries)
        self._chunk_squares = np.full(len(chunks), np.nan)

    @cached_property
    def units(self) -> np.ndarray:
        return unit(self.queries, self.squares)

    def block(self, start: int, stop: int) -> np.ndarray:
        return self.units @ unit(self.chunks[start:stop], self._squares(np.arange(start, stop))).T

    def exact(self, query: np.ndarray, chunk: np.ndarray) -> np.ndarray:
        dot = np.empty(len(query))
        step = max(1, RESCORED // max(1, self.queries.shape[1]))
        for start in range(0, len(query), step):
            part = slice(start, start + step)
            rows, vectors = self.chunks[chunk[part]], self.queries[query[part]]
            dot[part] = np.einsum("nd,nd->n", rows.astype(np.float64), vectors.astype(np.float64))
        return quotient(dot, self.squares[query] * self._squares(chunk))

    def within(self, query: Sequence[int], start: int, stop: int) -> np.ndarray:
        rows = self.chunks[start:stop].astype(np.float64)
        square = self._squares(np.arange(start, stop))
        return np.stack([quotient(_dots(rows, self.queries[each]), self.squares[each] * square) for each in query])

    def _squares(self, chunk: np.ndarray) -> np.ndarray:
        found = self._chunk_squares[chunk]
        missing = np.isnan(found)
        if missing.any():
            self._chunk_squares[chunk[missing]] = squares(self.chunks[chunk[missing]])
        return self._chunk_squares[chunk]


class CodeScores(CosineScores):
    """Cosines of int8 codes: a block is an exact integer product, and lengths and quotient are wrong by five
    roundings of float32 at most, at every dimension."""

    def __init__(self, queries: np.ndarray, chunks: np.ndarray):
        super().__init__(queries, chunks)
        self.margin = 8 * 2.0**-24

    def block(self, start: int, stop: int) -> np.ndarray:
        dots = product(self.queries, self.chunks[start:stop])
        inverse = inverses(self._squares(np.arange(start, stop))).astype(np.float32)
        found = np.multiply(dots, inverse, dtype=np.float32, casting="unsafe")
        return np.multiply(found, inverses(self.squares)[:, None].astype(np.float32), out=found)


class BinaryScores:
    """Cosines of +1/-1 codes, as int8: dot / d, an exact integer over an exact integer, so blocks are exact already."""

    margin = 0.0

    def __init__(self, queries: np.ndarray, chunks: np.ndarray):
        self.queries, self.chunks = np.asarray(queries), np.asarray(chunks)
        self.shape = (len(queries), len(chunks))

    def block(self, start: int, stop: int) -> np.ndarray:
        return self.within(slice(None), start, stop)

    def exact(self, query: np.ndarray, chunk: np.ndarray) -> np.ndarray:
        dots = np.einsum("nd,nd->n", self.queries[query], self.chunks[chunk], dtype=np.int32)
        return (dots / self.queries.shape[1]).astype(np.float32)

    def within(self, query: Sequence[int] | slice, start: int, stop: int) -> np.ndarray:
        dots = product(self.queries[query], self.chunks[start:stop])
        return np.divide(dots, self.queries.shape[1], dtype=np.float32, casting="unsafe")


KINDS: dict[str, Callable[[np.ndarray, np.ndarray], Scores]] = {
    "float32": CosineScores, "int8": CodeScores, "binary": BinaryScores,
}
"""The scores of stored queries and chunks, by precision."""


def squares(vectors: np.ndarray) -> np.ndarray:
    """|v|^2 in float64 `[rows]`."""
    found = np.empty(len(vectors))
    step = max(1, RESCORED // max(1, vectors.shape[1]))
    for first in range(0, len(vectors), step):
        rows = vectors[first:first + step].astype(np.float64)
        found[first:first + step] = np.einsum("nd,nd->n", rows, rows)
    return found


def inverses(square: np.ndarray) -> np.ndarray:
    """1 / |v| float64 of each |v|^2; 0 for a zero vector."""
    return np.divide(1, np.sqrt(square), out=np.zeros_like(square), where=square > 0)


def unit(vectors: np.ndarray, square: np.ndarray) -> np.ndarray:
    """Unit vectors float32 `[rows, d]`; a zero vector stays zero. In float64 where a length has no float32 inverse."""
    inverse = inverses(square)
    filled = inverse[inverse > 0]
    kind = np.float32 if len(filled) == 0 or (filled.min() > 1e-30 and filled.max() < 1e30) else np.float64
    scaled = np.multiply(vectors, inverse[:, None].astype(kind), dtype=kind, casting="same_kind")
    return scaled.astype(np.float32, copy=False)


def quotient(dot: np.ndarray, both: np.ndarray) -> np.ndarray:
    """dot / sqrt(|q|^2 |c|^2), float64 to float32 once; 0 where either vector is zero. Never -0."""
    length = np.sqrt(both)
    return np.divide(dot, length, out=np.zeros_like(length), where=length > 0).astype(np.float32) + np.float32(0)


def _dots(rows: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Dot products float64 `[rows]` of float64 rows `[rows, d]` with one vector."""
    return np.einsum("nd,d->n", rows, vector.astype(np.float64))
