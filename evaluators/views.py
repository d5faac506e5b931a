"""What a suite reads: one task under one chunking, at one dimension and precision, ranked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evaluators.budget import context_tokens
from evaluators.judgments import Judgments
from evaluators.metrics import ideal
from evaluators.ranking import Index, rank
from evaluators.scores import Scores

EVIDENCE_CUT = 10
"""The K of AllEvidence, and the rank that d* must reach for evidence to count."""
NDCG_CUT = 10
"""The K of the headline nDCG, always reported."""

Values = tuple[np.ndarray, np.ndarray]
"""Query positions int64 [counted] and their values float64 [counted]."""


@dataclass(frozen=True)
class Cuts:
    """Where lists are cut: at ranks, and (spans) at budgets of context tokens."""

    ks: tuple[int, ...] = (1, 5, 10)
    budgets: tuple[int, ...] = (2000,)

    @property
    def depth(self) -> int:
        return max(*self.ks, NDCG_CUT, EVIDENCE_CUT)

    @property
    def ndcg(self) -> tuple[int, ...]:
        return tuple(sorted({*self.ks, NDCG_CUT}))


class Gold:
    """Judgments as arrays, the same for every dimension and precision."""

    def __init__(self, judgments: Judgments, cuts: Cuts):
        self.judgments, self.cuts = judgments, cuts
        self.chunks, self.documents = len(judgments.table), len(judgments.corpus.documents)

    @cached_property
    def answered(self) -> np.ndarray:
        """Positions of the queries that have relevant chunks."""
        return np.flatnonzero([len(found) > 0 for found in self.judgments.relevant])

    @cached_property
    def targeted(self) -> np.ndarray:
        """Positions of the queries that have a target document."""
        return np.flatnonzero([len(found) > 0 for found in self.judgments.targets])

    @cached_property
    def relevant_keys(self) -> np.ndarray:
        return keys(self.judgments.relevant, self.chunks)

    @cached_property
    def whole_keys(self) -> np.ndarray:
        return keys(self.judgments.whole, self.chunks)

    @cached_property
    def graded(self) -> tuple[np.ndarray, np.ndarray]:
        """Keys of the judged (query, document) pairs, ascending, and their grades."""
        pairs = sorted((row * self.documents + place, grade)
                       for row, found in enumerate(self.judgments.grades) for place, grade in found.items())
        table = np.array(pairs, np.int64).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    @cached_property
    def costs(self) -> np.ndarray:
        """Context tokens of each chunk: int64 `[chunks]`."""
        return context_tokens(self.judgments.corpus, self.judgments.table)

    @cached_property
    def chunk_ideal(self) -> dict[int, np.ndarray]:
        return {k: ideal([[1] * min(k, len(found)) for found in self.judgments.relevant], k) for k in self.cuts.ndcg}

    @cached_property
    def document_ideal(self) -> dict[int, np.ndarray]:
        return {k: ideal([list(found.values()) for found in self.judgments.grades], k) for k in self.cuts.ndcg}


class View:
    """One ranking of all queries, and what was derived from it once for all suites."""

    def __init__(self, scores: Scores, index: Index, gold: Gold, depth: int):
        self.scores, self.index, self.gold = scores, index, gold
        self.judgments, self.cuts = gold.judgments, gold.cuts
        self.rank(max(depth, self.cuts.depth))

    def rank(self, depth: int) -> None:
        """Ranks the best `depth` chunks, and the best documents; again, where a budget of tokens outlasts the list."""
        self.chunks, self.documents = rank(self.scores, self.index, depth, self.cuts.depth)

    @cached_property
    def document_rank(self) -> np.ndarray:
        """1-based rank of d*, the best-ranked target document `[queries]`; beyond the list 0."""
        found = self.document_gains > 0
        return np.where(found.any(axis=1), found.argmax(axis=1) + 1, 0)

    @cached_property
    def document_gains(self) -> np.ndarray:
        """Grades of the ranked documents int64 `[queries, depth]`, 0 where not judged."""
        judged, grades = self.gold.graded
        return looked_up(self.documents.position, self.gold.documents, judged, grades)

    @property
    def relevant(self) -> np.ndarray:
        """Whether each ranked chunk is relevant: bool `[queries, depth]`."""
        return member(self.chunks.position, self.gold.chunks, self.gold.relevant_keys)

    @property
    def whole(self) -> np.ndarray:
        """Whether each ranked chunk covers an answer of its named document whole: bool `[queries, depth]`."""
        return member(self.chunks.position, self.gold.chunks, self.gold.whole_keys)


def keys(found: Sequence[np.ndarray], width: int) -> np.ndarray:
    """One ascending integer per (query, position) pair."""
    parts = [row * width + np.asarray(positions, np.int64) for row, positions in enumerate(found)]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def looked_up(position: np.ndarray, width: int, pairs: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The value of each (query, position) pair `[queries, depth]` among the ascending `pairs`, else 0."""
    if not len(pairs):
        return np.zeros(position.shape, np.int64)
    key = np.arange(len(position))[:, None] * width + position
    place = np.minimum(np.searchsorted(pairs, key), len(pairs) - 1)
    return np.where((pairs[place] == key) & (position >= 0), values[place], 0)


def member(position: np.ndarray, width: int, pairs: np.ndarray) -> np.ndarray:
    return looked_up(position, width, pairs, np.ones(len(pairs), np.int64)) > 0
