from __future__ import annotations

import math

import numpy as np
import pytest

from corpora import native
from corpora.chunks import chunk_table
from corpora.documents import Corpus, Document
from evaluators.bm25 import BM25, words
from evaluators.evaluate import evaluate
from evaluators.tasks import Task


def test_scores_are_lucenes_bm25():
    texts = ["red cat cat.", "A red dog", "blue"]
    corpus = Corpus("c", tuple(Document(str(place), text) for place, text in enumerate(texts)))
    found = BM25().scores(["red cat", "unknown words", ""], corpus, chunk_table(corpus, "whole"))
    bags = [words(text) for text in texts]
    mean = sum(map(len, bags)) / 3
    for place, bag in enumerate(bags):
        score = 0.0
        for word in ("red", "cat"):
            holds = sum(word in other for other in bags)
            count = bag.count(word)
            weight = math.log(1 + (3 - holds + 0.5) / (holds + 0.5))
            score += weight * count / (count + 1.5 * (1 - 0.75 + 0.75 * len(bag) / mean))
        assert found[0, place] == pytest.approx(score, rel=1e-5)
    assert not found[1:].any()


def test_shares_every_metric(golden):
    results = evaluate(BM25(), [Task("golden", native.read(golden))], ("q2c", "q2d", "context", "spans"))
    figures = results.figures()
    assert figures["context/Document@10"] > 0.5 and results.dimension == 0
    assert np.isfinite(list(figures.values())).all()
