"""Teacher `spans`: scores made from the labels, smoothed and noisy, for experiments.

It stands in for a compression model: a word inside an answer scores 1, a word k words away
`smoothing`^k, and noise is added; scores stay in [0, 1]. Targets without answers get no rows.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from corpora.documents import Corpus, Span
from corpora.scores import PairRows
from trainables.data import pairs_of
from trainables.recipe import TeacherConfig

_WORD = re.compile(r"\S+")


def score(config: TeacherConfig, corpus: Corpus) -> Iterator[PairRows]:
    """The rows of every pair with answers, one row a word."""
    document, words = -1, np.empty((0, 2), np.int32)
    for query, place, answers in sorted(pairs_of(corpus), key=lambda pair: pair[1]):
        if not answers:
            continue
        if place != document:
            document, words = place, words_of(corpus.documents[place].text)
        ids = corpus.queries[query].id, corpus.documents[place].id
        rng = np.random.default_rng([config.seed, *hashlib.sha256(repr(ids).encode()).digest()])
        scores = np.clip(leaked(words, answers, config.smoothing) + config.noise * rng.standard_normal(len(words)), 0, 1)
        yield PairRows(*ids, words[:, 0], words[:, 1], scores)


def words_of(text: str) -> NDArray[np.int32]:
    """int32 [words, 2]: the character spans between white space"""
    return np.array([match.span() for match in _WORD.finditer(text)], np.int32).reshape(-1, 2)


def leaked(words: NDArray, answers: Sequence[Span], smoothing: float) -> NDArray[np.float64]:
    """float64 [words]: smoothing^k, k words away from the nearest word of an answer (0^0 = 1)."""
    distance = np.full(len(words), np.inf)
    for start, end in answers:
        inside = np.flatnonzero((words[:, 0] < end) & (start < words[:, 1]))
        if len(inside):
            place = np.arange(len(words))
            distance = np.minimum(distance, np.maximum(np.maximum(inside[0] - place, place - inside[-1]), 0))
    return np.power(float(smoothing), distance)
