"""Worked cases of span-eval, by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.chunks import ChunkTable
from corpora.documents import Corpus, Document, Query, Target
from evaluators.budget import TOKEN, context_tokens, taken
from evaluators.evaluate import evaluate
from evaluators.tasks import Task
from tests.evaluators.worlds import Given

TEXT = "one two three four five six"


def measured(documents, target, order, ks=(1, 2, 3), budgets=()):
    """Values by metric when the chunks of the index are retrieved in `order`, positions best first."""
    corpus = Corpus("c", documents, (Query("q", "q", (target,)),))
    chunks = np.zeros((len(order), 2), np.float32)
    for place, chunk in enumerate(order):
        angle = 0.1 * (place + 1)
        chunks[chunk] = np.cos(angle), np.sin(angle)
    results = evaluate(Given(np.array([[1.0, 0.0]], np.float32), chunks), [Task("t", corpus)], ("spans",),
                       precisions=("float32",), ks=ks, budgets=budgets, chunking="given")
    return results.rows().set_index("metric")["value"].to_dict()


def test_two_chunks_that_meet_inside_the_evidence():
    found = measured((Document("d", TEXT, chunks=((0, 10), (10, 27))),), Target("d", 1, ((4, 13),)), [1, 0])
    found = {metric: value for metric, value in found.items() if not metric.startswith("Context")}
    assert found == {"SpanHit@1": 0, "UnionHit@1": 0, "SpanMRR@1": 0, "SpanHit@2": 0, "UnionHit@2": 1, "SpanMRR@2": 0,
                     "SpanHit@3": 0, "UnionHit@3": 1, "SpanMRR@3": 0}


def test_a_gap_is_no_union():
    found = measured((Document("d", TEXT, chunks=((0, 9), (10, 27), (5, 7))),), Target("d", 1, ((4, 13),)), [0, 1, 2])
    assert found["UnionHit@3"] == 0


def test_identical_text_in_another_document_does_not_count():
    twins = (Document("copy", TEXT, chunks=((0, 27),)), Document("d", TEXT, chunks=((0, 27),)))
    found = measured(twins, Target("d", 1, ((4, 13),)), [0, 1])
    assert (found["SpanHit@1"], found["UnionHit@1"], found["SpanMRR@2"]) == (0, 0, 0.5)


def test_any_alternative_and_edge_white_space():
    found = measured((Document("d", TEXT, chunks=((0, 7), (8, 27))),), Target("d", 1, ((0, 13), (7, 14))), [1, 0])
    assert (found["SpanHit@1"], found["SpanMRR@1"]) == (1, 1)


def test_a_budget_ends_where_the_next_chunk_would_pass_it():
    """Chunks of 1, 4 and 1 words: 5 tokens hold the first two, 4 only the first, though the third would fit."""
    document = Document("d", TEXT, chunks=((0, 4), (4, 24), (24, 27)))
    for budget, hit in ((4, 0), (5, 1)):
        found = measured((document,), Target("d", 1, ((8, 13),)), [0, 1, 2], ks=(1,), budgets=(budget,))
        assert found[f"SpanHit@{budget}tok"] == hit
        assert found[f"SpanMRR@{budget}tok"] == hit / 2
        assert found[f"ContextTokens@{budget}tok"] == (5 if hit else 1)


def test_context_tokens_are_words_and_signs():
    from corpora.chunks import chunk_table

    corpus = Corpus("c", (Document("d", "Pay $1200, now. Näıve 日本語", chunks=((0, 16), (16, 25))),))
    assert context_tokens(corpus, chunk_table(corpus, "given")).tolist() == [6, 2]
    assert taken(np.array([[3, 3, 1], [9, 1, 1]]), 5).tolist() == [1, 0]


@given(st.text(max_size=30), st.lists(st.integers(0, 30), min_size=2, max_size=2))
def test_counting_is_the_expression(text, edges):
    start, end = sorted(min(edge, len(text)) for edge in edges)
    corpus = Corpus("c", (Document("d", text, chunks=((start, end),)),))
    table = ChunkTable("given", ("d",), np.zeros(1, np.int32), np.zeros(1, np.int32), np.array([[start, end]]), None,
                       np.array([0, 1]))
    assert context_tokens(corpus, table) == sum(start <= match.start() < end for match in TOKEN.finditer(text))


@pytest.mark.parametrize("budget", [3, 50, 10**6])
def test_lists_are_deepened_until_the_budget_is_spent(budget):
    """Ten long chunks rank behind ninety of one word: the first guess at the length is too short."""
    words = ["w "] * 90 + ["w " * 40] * 10
    edges = np.cumsum([0, *map(len, words)]).tolist()
    chunks = tuple(itertools.pairwise(edges))
    document = Document("d", "".join(words), chunks=chunks)
    target = Target("d", 1, (chunks[49],))
    found = measured((document,), target, list(range(100)), ks=(1,), budgets=(budget,))
    assert found[f"SpanHit@{budget}tok"] == (budget >= 50)
