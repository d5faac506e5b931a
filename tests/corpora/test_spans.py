"""Span arithmetic against the obvious loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora import spans
from corpora.chunkings import Chunking
from corpora.documents import Document

SPAN = st.tuples(st.integers(0, 20), st.integers(1, 10)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def relevant_by_loop(span, chunks):
    whole = [place for place, (start, end) in enumerate(chunks) if start <= span[0] and span[1] <= end]
    if whole:
        return whole
    characters = set(range(*span))
    return [place for place, chunk in enumerate(chunks) if characters & set(range(*chunk))]


@settings(max_examples=300, deadline=None)
@given(st.lists(SPAN, max_size=4), st.lists(SPAN, min_size=1, max_size=8))
def test_relevant_chunks_are_those_a_loop_finds(wanted, chunks):
    table = np.array(chunks, np.int64)
    expected = sorted({place for span in wanted for place in relevant_by_loop(span, chunks)})
    assert spans.relevant_chunks(wanted, table).tolist() == expected
    for span in wanted:
        assert spans.relevant(span, table).tolist() == relevant_by_loop(span, chunks)


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("a \n\u00a0\u2003\u3000😀"), min_size=1, max_size=20), st.data())
def test_trim_drops_only_white_space(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    first, last = spans.trim(text, (start, end))
    assert text[first:last] == text[start:end].strip()
    assert start <= first <= last <= end


@settings(max_examples=300, deadline=None)
@given(
    st.text(st.sampled_from("ab.!? \n\r😀é。"), min_size=1, max_size=60),
    st.data(),
    st.sampled_from(["sentence", "paragraph", "whole", "tokens:3", "tokens:4/0.5"]),
)
def test_every_span_of_any_text_has_chunks_that_hold_it(text, data, spelling):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    offsets = np.array([(place, place + 1) for place, letter in enumerate(text) if not letter.isspace()] or [(0, 1)])
    table = Chunking.parse(spelling).spans(Document("a", text), offsets)
    found = spans.relevant((start, end), table)
    assert found.tolist() == relevant_by_loop((start, end), table.tolist())
    held = {place for chunk in found for place in range(*table[chunk])}
    assert set(range(start, end)) <= held
