"""The order that every metric shares: score descending, then id bytes descending (DESIGN section 6).

A rank is one integer: the float32 score's order-preserving bits above the place of the id among all ids. A fast block
product selects candidates with its error margin; they, and everything tied at the cut, get their exact scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from corpora.chunks import ChunkTable, trec_id
from evaluators.scores import Scores

BLOCK = 1 << 23
"""Scores `[queries, chunks]` held at once: 32 MiB of float32, and twice that of float64 for codes."""
NARROWEST = 64
"""Chunks a block has at least, whatever the number of queries."""
GROUP = 32
"""Chunks whose maximum is looked at before they are."""


@dataclass(frozen=True)
class Ranking:
    """The best `depth` per query, best first.

    position: int64 [queries, depth], -1 where there are fewer; score: float32 [queries, depth], NaN there;
    tied: bool [queries], whether the last one kept ties with the first one left out.
    """

    position: np.ndarray
    score: np.ndarray
    tied: np.ndarray

    def ties(self, k: int) -> np.ndarray:
        """Whether the k-th and the next have one score, so that ids decide: bool `[queries]`."""
        return self.score[:, k - 1] == self.score[:, k] if k < self.score.shape[1] else self.tied


class Index:
    """What is searched: the chunks of a split's documents, with the order of their ids."""

    def __init__(self, table: ChunkTable):
        self.table = table
        self.documents = np.flatnonzero(np.diff(table.indptr))
        """Positions of the documents that have chunks."""

    @cached_property
    def chunk_ids(self) -> list[str]:
        return self.table.ids()

    @cached_property
    def document_ids(self) -> list[str]:
        return [trec_id(identifier) for identifier in self.table.document_ids]

    @cached_property
    def chunk_place(self) -> np.ndarray:
        return places(self.chunk_ids)

    @cached_property
    def document_place(self) -> np.ndarray:
        return places(self.document_ids)


def places(ids: Sequence[str]) -> np.ndarray:
    """Place of each id among all in ascending order of bytes: int64 `[ids]`."""
    names = [identifier.encode() for identifier in ids]
    found = np.empty(len(names), np.int64)
    found[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return found


def packed(score: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Score (float32) and place as one uint64: the larger comes first in the order."""
    bits = (np.asarray(score, np.float32) + np.float32(0)).view(np.uint32)
    bits = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))
    return bits.astype(np.uint64) << np.uint64(32) | place.astype(np.uint64)


def rank(scores: Scores, index: Index, depth: int, document_depth: int) -> tuple[Ranking, Ranking]:
    """The best chunks and the best documents (by their best chunk) of every query, from one pass over the blocks."""
    table, queries = index.table, scores.shape[0]
    slack = np.float32(2 * scores.margin + 2.0**-22 if scores.margin else 0)
    chunks, documents = _Candidates(queries, depth, slack), _Candidates(queries, document_depth, slack)
    width = max(NARROWEST, BLOCK // max(1, queries))
    size = max(1, min(GROUP, min(width, len(table)) // (8 * depth)))
    for start in range(0, len(table), width):
        stop = min(start + width, len(table))
        block = scores.block(start, stop)
        edges, runs, whole = _groups(table, start, stop, size)
        maxima = np.maximum.reduceat(block, edges[:-1], axis=1)
        chunks.lift(maxima)
        documents.lift(np.maximum.reduceat(maxima, runs, axis=1)[:, whole])
        query, chunk, value = _reaching(block, maxima, edges, np.minimum(chunks.bound, documents.bound))
        chunk += start
        chunks.add(query, chunk, value)
        best = _best_of(query, table.document[chunk], value)
        documents.add(*(part[value >= best - slack] for part in (query, chunk, value)))
    return (_ranked(*chunks.exact(scores), index.chunk_place, queries, depth),
            _ranked(*_best_chunk(*documents.exact(scores), table), index.document_place, queries, document_depth))


def inside(scores: Scores, index: Index, queries: Sequence[int], document: int) -> tuple[np.ndarray, np.ndarray]:
    """How each query orders the chunks of one document: the rank of each from 0, int64 `[queries, chunks]`; and the
    document's own place in each query's order, uint64 `[queries]`, larger is better, as `packed` gives it."""
    rows = index.table.of(document)
    if rows.start == rows.stop:
        return np.empty((len(queries), 0), np.int64), np.zeros(len(queries), np.uint64)
    key = packed(scores.within(queries, rows.start, rows.stop), index.chunk_place[rows])
    rank = key.shape[1] - 1 - np.argsort(np.argsort(key, axis=1), axis=1)
    return rank, key.max(axis=1) >> np.uint64(32) << np.uint64(32) | np.uint64(index.document_place[document])


def _groups(table: ChunkTable, start: int, stop: int, size: int) -> tuple[np.ndarray, np.ndarray, slice]:
    """How the chunks start:stop are grouped by about `size`: a group begins with a document where it can.

    Returns the groups' edges `[groups + 1]`, counted from `start`; which groups begin with a document `[runs]`, so that
    no document is in two runs; and the runs whose documents are in no other block.
    """
    first, last = table.document[start], table.document[stop - 1]
    begins = np.unique(np.clip(table.indptr[first:last + 1], start, stop)) - start
    edges = np.append(np.arange(0, stop - start, size), stop - start)
    runs, earliest = np.unique(begins // size, return_index=True)
    edges[runs] = begins[earliest]
    return edges, runs, slice(int(table.indptr[first] < start), len(runs) - int(table.indptr[last + 1] > stop))


def _reaching(
    block: np.ndarray, maxima: np.ndarray, edges: np.ndarray, bound: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Query, column and value of all in `block` `[queries, columns]` that reach the query's bound, in this order."""
    query, group = np.nonzero(maxima >= bound[:, None])
    sizes = np.diff(edges)[group]
    query = np.repeat(query, sizes)
    column = np.arange(len(query)) - np.repeat(np.cumsum(sizes) - sizes - edges[group], sizes)
    value = block[query, column]
    keep = np.flatnonzero(value >= bound[query])
    return query[keep], column[keep], value[keep]


def _best_of(query: np.ndarray, document: np.ndarray, value: np.ndarray) -> np.ndarray:
    """For each pair the largest value of its query and document `[pairs]`; those of one stand together."""
    changes = np.flatnonzero((np.diff(query, prepend=-1) != 0) | (np.diff(document, prepend=-1) != 0))
    return np.repeat(np.maximum.reduceat(value, changes), np.diff(changes, append=len(value))) if len(value) else value


class _Candidates:
    """All (query, chunk) pairs that may still be among the best, and the running bound that a pair must reach."""

    def __init__(self, queries: int, depth: int, slack: np.float32):
        self.depth, self.slack = depth, slack
        self.best = np.empty((queries, 0), np.float32)
        """Values of distinct groups: the depth-th largest is a lower bound of the depth-th best."""
        self.found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    @property
    def bound(self) -> np.ndarray:
        full = self.best.shape[1] == self.depth
        return self.best.min(axis=1) - self.slack if full else np.full(len(self.best), -np.inf, np.float32)

    def lift(self, maxima: np.ndarray) -> None:
        """Raises the bound by the maxima `[queries, groups]` of groups that share nothing with any other."""
        self.best = np.concatenate([self.best, maxima], axis=1)
        if self.best.shape[1] > self.depth:
            self.best = np.partition(self.best, -self.depth, axis=1)[:, -self.depth:]

    def add(self, query: np.ndarray, chunk: np.ndarray, value: np.ndarray) -> None:
        keep = np.flatnonzero(value >= self.bound[query])
        self.found.append((query[keep], chunk[keep], value[keep]))

    def exact(self, scores: Scores) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Query, chunk and exact score of every pair that reaches the final bound, query after query."""
        if not self.found:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
        query, chunk, value = (np.concatenate(part) for part in zip(*self.found, strict=True))
        keep = np.flatnonzero(value >= self.bound[query])
        keep = keep[np.argsort(query[keep], kind="stable")]
        query, chunk, value = query[keep], chunk[keep], value[keep]
        return query, chunk, scores.exact(query, chunk) if scores.margin else value


def _best_chunk(
    query: np.ndarray, chunk: np.ndarray, score: np.ndarray, table: ChunkTable,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Query, document and the document's score: its best chunk's."""
    key = query * len(table.document_ids) + table.document[chunk]
    pairs, place = np.unique(key, return_inverse=True)
    best = np.full(len(pairs), -np.inf, np.float32)
    np.maximum.at(best, place, score)
    return *np.divmod(pairs, max(1, len(table.document_ids))), best


def _ranked(
    query: np.ndarray, position: np.ndarray, score: np.ndarray, place: np.ndarray, queries: int, depth: int,
) -> Ranking:
    """Sorts the pairs of each query, which follow one another, and cuts them at `depth`."""
    counts = np.bincount(query, minlength=queries)
    column = np.arange(len(query)) - np.repeat(np.cumsum(counts) - counts, counts)
    key = np.zeros((queries, max(depth, counts.max(initial=0)) + 1), np.uint64)
    key[query, column] = packed(score, place[position])
    key = np.sort(key, axis=1)[:, ::-1]
    by_place = np.zeros(max(1, len(place)), np.int64)
    by_place[place] = np.arange(len(place))
    top, bits = key[:, :depth], (key >> np.uint64(32)).astype(np.uint32)
    taken = bits[:, :depth]
    value = np.where(taken >> 31, taken & np.uint32((1 << 31) - 1), ~taken).view(np.float32)
    filled = taken > 0
    return Ranking(
        position=np.where(filled, by_place[(top & np.uint64(0xFFFFFFFF)).astype(np.int64)], -1),
        score=np.where(filled, value, np.float32(np.nan)),
        tied=(bits[:, depth - 1] == bits[:, depth]) & (bits[:, depth] > 0),
    )
