"""Metrics per query, on arrays: one spelling each, trec_eval's definitions (DESIGN sections 2 and 6).

`gains` `[queries, depth]` hold the grade of what stands at each rank, 0 for what is not judged or not there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corpora.errors import InputError, Problem

NAMES = ("nDCG", "AP", "RR", "P", "R", "Document", "Answer", "EvidenceRecall", "AllEvidence",
         "SpanHit", "UnionHit", "SpanMRR")
DEEPEST = 100_000
"""The deepest cut of a ranking: each query's is in memory."""
LARGEST = 999_999_999
"""The largest dimension or count of tokens that is asked for."""
_SPELLING = re.compile(r"([A-Za-z]+)(?:@([0-9]+)(tok)?)?")


@dataclass(frozen=True)
class Metric:
    """`nDCG@10`, `SpanHit@2000tok`, or a name without a cut such as `AP`."""

    name: str
    k: int | None = None
    tokens: bool = False

    @classmethod
    def parse(cls, spelling: str) -> Metric:
        match = _SPELLING.fullmatch(spelling)
        if not match or match[1] not in NAMES or match[2] and int(match[2]) < 1:
            raise InputError(Problem(f"metric {spelling!r}", f"allowed are {', '.join(NAMES)}, followed by @K with "
                                                             "K at least 1, or @Ntok for a budget of tokens"))
        return cls(match[1], int(match[2]) if match[2] else None, bool(match[3]))

    def __str__(self) -> str:
        return self.name if self.k is None else f"{self.name}@{self.k}{'tok' if self.tokens else ''}"


def discounts(depth: int) -> np.ndarray:
    """1 / log2(rank + 1) for the ranks 1..depth."""
    return 1 / np.log2(np.arange(2, depth + 2))


def ideal(grades: Sequence[Sequence[int]], k: int) -> np.ndarray:
    """The best possible DCG at k per query `[queries]`, over all positive judgments."""
    best = np.zeros((len(grades), k))
    for row, found in enumerate(grades):
        positive = sorted((grade for grade in found if grade > 0), reverse=True)[:k]
        best[row, :len(positive)] = positive
    return np.einsum("qk,k->q", best, discounts(k))


def ndcg(gains: np.ndarray, best: np.ndarray, k: int) -> np.ndarray:
    """nDCG at k `[queries]`: linear gain, negative grades gain nothing, 0 where nothing is relevant.

    `best` `[queries]` is `ideal(grades, k)`.
    """
    top = np.maximum(gains[:, :k], 0)
    found = np.einsum("qk,k->q", top.astype(np.float64), discounts(top.shape[1]))
    return np.divide(found, best, out=np.zeros(len(best)), where=best > 0)


def reciprocal_rank(relevant: np.ndarray) -> np.ndarray:
    """1 / rank of the first relevant one `[queries]`, 0 without any; `relevant` bool `[queries, depth]`."""
    if not relevant.shape[1]:
        return np.zeros(len(relevant))
    return np.where(relevant.any(axis=1), 1 / (relevant.argmax(axis=1) + 1), 0.0)


def precision(relevant: np.ndarray, k: int) -> np.ndarray:
    """Relevant ones among the first k, over k `[queries]`, also where fewer were returned."""
    return relevant[:, :k].sum(axis=1) / k


def recall(relevant: np.ndarray, judged: np.ndarray, k: int | None = None) -> np.ndarray:
    """Relevant ones among the first k, over all that are judged relevant (`judged` `[queries]`)."""
    hits = relevant[:, :k].sum(axis=1)
    return np.divide(hits, judged, out=np.zeros(len(hits)), where=judged > 0)


def average_precision(relevant: np.ndarray, judged: np.ndarray) -> np.ndarray:
    """Mean over all judged relevant of the precision at their ranks, 0 for those not returned `[queries]`."""
    at = relevant.cumsum(axis=1) / np.arange(1, relevant.shape[1] + 1)
    total = (at * relevant).sum(axis=1)
    return np.divide(total, judged, out=np.zeros(len(total)), where=judged > 0)


def check_ks(ks: Sequence[int]) -> None:
    wrong = [k for k in ks if not 1 <= k <= DEEPEST]
    if wrong:
        said = f"a cut is 1 to {DEEPEST}: K counts the results that are looked at"
        raise InputError(Problem(f"k = {k}", said) for k in wrong)
