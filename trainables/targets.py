"""From token scores and labels over characters to targets over chunks (DESIGN section 5).

Everything here depends on spans alone, so temperatures, top-n and chunkings can be swept
without calling a teacher again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from corpora.documents import Span


def relevance(starts: NDArray, scores: NDArray, chunks: NDArray, n: int) -> NDArray[np.float64]:
    """r_j: the mean of the n highest scores among the rows that start in chunk j, all if fewer.

    starts [rows] ascending and scores [rows] are the teacher's; chunks [chunks, 2] are
    character spans. A chunk in which no row starts gets NaN.
    """
    first = np.searchsorted(starts, chunks[:, 0], "left")
    last = np.searchsorted(starts, chunks[:, 1], "left")
    count = np.maximum(last - first, 0)
    widest = int(count.max(initial=0))
    if widest == 0:
        return np.full(len(chunks), np.nan)
    place = first[:, None] + np.arange(widest)
    inside = np.arange(widest) < count[:, None]
    rows = np.where(inside, np.asarray(scores, np.float64)[np.minimum(place, len(starts) - 1)], -np.inf)
    taken = np.minimum(count, n)
    highest = -np.sort(-rows, axis=1)[:, :n]
    summed = np.where(np.arange(highest.shape[1]) < taken[:, None], highest, 0).sum(1)
    return np.where(count > 0, summed / np.maximum(taken, 1), np.nan)


def distribution(relevance: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """p_T = softmax(r / t_teacher) over the chunks that have rows, 0 elsewhere.

    Without any rows all is 0: such a pair has no L_dist.
    """
    has = ~np.isnan(relevance)
    if not has.any():
        return np.zeros(len(relevance))
    logits = np.where(has, relevance, -np.inf) / temperature
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def gold_chunk(answers: Sequence[Span], chunks: NDArray) -> int:
    """The chunk that shares most characters with one answer, the first of equals; -1 without answers."""
    if not len(answers):
        return -1
    spans = np.asarray(answers).reshape(-1, 1, 2)
    overlap = np.minimum(spans[..., 1], chunks[:, 1]) - np.maximum(spans[..., 0], chunks[:, 0])
    best = overlap.max(0)
    return int(best.argmax()) if best.max() > 0 else -1
