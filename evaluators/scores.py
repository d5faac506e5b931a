"""Exact scores of DESIGN section 6, block by block: a fast product with a known error, and the exact value of any pair.

A score is dot / sqrt(|q|^2 |c|^2) in float64, rounded to float32 once. The float64 sum runs row by row, so that it
does not depend on where a vector stands in the index: equal vectors tie exactly.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

RESCORED = 1 << 22
"""Elements of the pairs that are rescored at once: bounds the float64 copies to 64 MiB."""
EXACT_SLAB = 1040
"""Dimensions over which a float32 product of int8 codes stays an exact integer: 127^2 * 1040 < 2^24."""


class Scores(Protocol):
    """Scores of every query against every chunk, never all at once."""

    shape: tuple[int, int]
    margin: float
    """|block - exact| is never larger; 0 where blocks are exact."""

    def block(self, start: int, stop: int) -> np.ndarray:
        """float32 `[queries, stop - start]` against the chunks start:stop."""

    def exact(self, query: np.ndarray, chunk: np.ndarray) -> np.ndarray:
        """float32 `[pairs]`: the score of each pair of positions."""


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


class CosineScores:
    """Cosines of stored vectors: `queries` `[queries, d]` and `chunks` `[chunks, d]`, float or int8, perhaps mapped.

    Floats: a float32 product of unit vectors, wrong by at most (d + 8) 2^-24 in any order of summation.
    Codes: float32 products of integers, exact over slabs of 1040 dimensions, added up in float64.
    """

    def __init__(self, queries: np.ndarray, chunks: np.ndarray):
        if queries.dtype != chunks.dtype:
            raise ValueError(f"queries are {queries.dtype}, chunks {chunks.dtype}: both sides share one code")
        self.queries, self.chunks = queries, chunks
        self.shape = (len(queries), len(chunks))
        self.codes = np.issubdtype(queries.dtype, np.integer)
        self.margin = 0.0 if self.codes else (queries.shape[1] + 8) * 2.0**-24
        self.squares = squares(queries)
        self.left = queries.astype(np.float32) if self.codes else unit(queries, self.squares)

    def block(self, start: int, stop: int) -> np.ndarray:
        rows = self.chunks[start:stop]
        right = squares(rows)
        if not self.codes:
            return self.left @ unit(rows, right).T
        return quotient(integer_product(self.left, rows.astype(np.float32)), self.squares[:, None] * right)

    def exact(self, query: np.ndarray, chunk: np.ndarray) -> np.ndarray:
        found = np.empty(len(query), np.float32)
        step = max(1, RESCORED // max(1, self.queries.shape[1]))
        for first in range(0, len(query), step):
            part = slice(first, first + step)
            rows = self.chunks[chunk[part]].astype(np.float64)
            asked = self.queries[query[part]].astype(np.float64)
            both = self.squares[query[part]] * np.einsum("nd,nd->n", rows, rows)
            found[part] = quotient(np.einsum("nd,nd->n", asked, rows), both)
        return found


def squares(vectors: np.ndarray) -> np.ndarray:
    """|v|^2 in float64 `[rows]`."""
    found = np.empty(len(vectors))
    step = max(1, RESCORED // max(1, vectors.shape[1]))
    for first in range(0, len(vectors), step):
        rows = vectors[first:first + step].astype(np.float64)
        found[first:first + step] = np.einsum("nd,nd->n", rows, rows)
    return found


def unit(vectors: np.ndarray, square: np.ndarray) -> np.ndarray:
    """Unit vectors float32 `[rows, d]`; a zero vector stays zero."""
    inverse = np.divide(1, np.sqrt(square), out=np.zeros_like(square), where=square > 0)
    return (vectors * inverse[:, None]).astype(np.float32)


def quotient(dot: np.ndarray, both: np.ndarray) -> np.ndarray:
    """dot / sqrt(|q|^2 |c|^2), float64 to float32 once; 0 where either vector is zero. Never -0."""
    length = np.sqrt(both)
    return np.divide(dot, length, out=np.zeros_like(length), where=length > 0).astype(np.float32) + np.float32(0)


def integer_product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Exact products of int8 codes held in float32: float64 `[rows of left, rows of right]`."""
    total = np.zeros((len(left), len(right)))
    for first in range(0, left.shape[1], EXACT_SLAB):
        part = slice(first, first + EXACT_SLAB)
        total += left[:, part] @ right[:, part].T
    return total
