"""Targets over chunks against the worked values and plain loops."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainables.targets import distribution, gold_chunk, relevance


def slow_relevance(starts, scores, chunks, n):
    values = []
    for begin, end in chunks:
        inside = sorted((score for start, score in zip(starts, scores) if begin <= start < end), reverse=True)[:n]
        values.append(sum(inside) / len(inside) if inside else None)
    return values


def slow_distribution(relevance, temperature):
    total = sum(math.exp(r / temperature) for r in relevance if r is not None)
    return [0.0 if r is None else math.exp(r / temperature) / total for r in relevance]


def test_worked_values(golden):
    cases = json.loads((golden / "statistics.json").read_text())["teacher"]
    assert len(cases) == 8
    for case in cases:
        rows, chunks = np.array(case["rows"]), np.array(case["chunks"])
        found = relevance(rows[:, 0].astype(int), rows[:, 2], chunks, case["n"])
        expected = [math.nan if r is None else r for r in case["relevance"]]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        np.testing.assert_allclose(distribution(found, case["temperature"]), case["target"], rtol=1e-9)


@given(
    st.lists(st.tuples(st.integers(0, 40), st.floats(-3, 3)), max_size=30).map(sorted),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), min_size=1, max_size=8),
    st.integers(1, 6),
    st.floats(0.2, 2),
)
def test_any_rows_and_chunks_match_plain_loops(rows, chunks, n, temperature):
    """Chunks may overlap, leave gaps or be empty; several rows may start together."""
    starts, scores = np.array([r[0] for r in rows], int), np.array([r[1] for r in rows], float)
    chunks = np.array([(begin, begin + length) for begin, length in chunks])
    slow = slow_relevance(starts, scores, chunks, n)
    found = relevance(starts, scores, chunks, n)
    np.testing.assert_allclose(found, [math.nan if r is None else r for r in slow], atol=1e-12)
    if any(r is not None for r in slow):
        np.testing.assert_allclose(distribution(found, temperature), slow_distribution(slow, temperature), atol=1e-12)
    else:
        assert not distribution(found, temperature).any()


def test_extreme_scores_do_not_overflow():
    assert distribution(np.array([1e4, 0.0, math.nan]), 0.01).tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("answers", "gold"),
    [
        ([], -1),
        ([(12, 14)], 1),
        ([(8, 14)], 1),  # 2 characters in the first, 4 in the second
        ([(8, 12)], 0),  # 2 and 2: the first of equals
        ([(8, 11), (21, 29)], 2),  # the alternative with the largest share of one chunk
        ([(40, 50)], -1),  # in no chunk
    ],
)
def test_gold_chunk(answers, gold):
    assert gold_chunk(answers, np.array([(0, 10), (10, 20), (20, 30)])) == gold
