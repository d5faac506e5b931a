"""Every chunk's every token is pooled once, from the right window; windows keep to their limit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from trainables.layouts import DocumentInput, Frame, layout, question

SEPARATOR, START, END, PAD = 900, 901, 902, 903


def frame(window: int, specials: bool = True) -> Frame:
    return Frame((START,) if specials else (), (END,) if specials else (), SEPARATOR, PAD, window)


def document(tokens: int, chunks) -> DocumentInput:
    """Ids are positions, so that an id in a window says where it came from."""
    return DocumentInput(np.arange(tokens), np.array(chunks).reshape(-1, 2))


@st.composite
def documents(draw) -> DocumentInput:
    """Tilings, publishers' chunks with gaps, overlapping windows; short and long."""
    tokens = draw(st.integers(0, 120))
    kind = draw(st.sampled_from(["tiling", "gaps", "overlap"]))
    if kind == "overlap":
        size = draw(st.integers(1, 40))
        step = draw(st.integers(1, size))
        starts = list(range(0, max(tokens - size, 0) + step, step))
        return document(tokens, [(s, min(s + size, tokens)) for s in starts if s < tokens])
    cuts = sorted({0, tokens, *draw(st.lists(st.integers(0, tokens), max_size=15))})
    chunks = list(pairwise(cuts))
    if kind == "gaps":
        chunks = [chunk for chunk in chunks if draw(st.booleans())]
        chunks = draw(st.permutations(chunks))
    return document(tokens, chunks)


@settings(max_examples=300, deadline=None)
@given(documents(), st.integers(6, 60), st.booleans())
def test_nothing_is_dropped_and_no_window_too_long(doc, window, specials):
    form = frame(window, specials)
    windows = layout(doc, form)
    pooled: dict[int, list[int]] = {row: [] for row in range(len(doc.chunks))}
    read = set()
    for one in windows:
        assert len(one.ids) == len(one.source) <= window
        inner = one.ids[len(form.start) : len(one.ids) - len(form.end)]
        assert tuple(one.ids[: len(form.start)]) == form.start and tuple(one.ids[len(one.ids) - len(form.end) :]) == form.end
        for token, origin in zip(inner, one.source[len(form.start) :]):
            assert token == (SEPARATOR if origin == -1 else doc.ids[origin])
        read |= set(one.source[one.source >= 0].tolist())
        for position, row in zip(one.positions, one.rows):
            pooled[row].append(int(one.source[position]))
    assert {row: sorted(found) for row, found in pooled.items()} == {
        row: list(range(start, end)) for row, (start, end) in enumerate(doc.chunks.tolist())
    }
    assert read == set(range(len(doc.ids)))


@settings(max_examples=200, deadline=None)
@given(documents(), st.integers(6, 60))
def test_each_chunk_comes_from_the_window_that_shows_most_around_it(doc, window):
    """Reference: by hand over the windows' own inputs, for chunks that fit one window whole."""
    form = frame(window)
    windows = layout(doc, form)
    first, last = 0, len(windows) - 1
    for row, (start, end) in enumerate(doc.chunks.tolist()):
        if not 0 < end - start <= form.capacity:
            continue
        distances = {}
        for number, one in enumerate(windows):
            body = one.source[1:-1].tolist()
            for place in range(len(body)):
                if body[place : place + end - start] == list(range(start, end)) and _is_unit(one, place, row):
                    left = float("inf") if number == first else place
                    right = float("inf") if number == last else len(body) - place - (end - start)
                    distances[number] = max(distances.get(number, -1), min(left, right))
        home = [number for number, one in enumerate(windows) if row in one.rows]
        assert len(home) == 1
        assert distances[home[0]] == max(distances.values())


def _is_unit(window, place: int, row: int) -> bool:
    """Overlapping chunks share tokens: a place that another chunk is pooled from is not this one's."""
    position = place + 1
    owners = {int(owner) for at, owner in zip(window.positions, window.rows) if at == position}
    return not owners or row in owners


def test_a_short_document_is_one_window_with_separators_between_chunks():
    (one,) = layout(document(6, [(0, 2), (2, 3), (3, 6)]), frame(24), first_row=10)
    assert one.ids.tolist() == [START, 0, 1, SEPARATOR, 2, SEPARATOR, 3, 4, 5, END]
    assert one.positions.tolist() == [1, 2, 4, 6, 7, 8]
    assert one.rows.tolist() == [10, 10, 11, 12, 12, 12]


def test_overlapped_tokens_appear_twice():
    (one,) = layout(document(5, [(0, 3), (2, 5)]), frame(24))
    assert one.ids.tolist() == [START, 0, 1, 2, SEPARATOR, 2, 3, 4, END]


def test_tokens_outside_given_chunks_are_read_and_not_pooled():
    (one,) = layout(document(9, [(1, 3), (5, 7)]), frame(24))
    assert one.ids.tolist() == [START, 0, 1, 2, 3, 4, SEPARATOR, 5, 6, 7, 8, END]
    assert one.rows.tolist() == [0, 0, 1, 1]


def test_windows_overlap_by_a_quarter_on_chunk_boundaries():
    windows = layout(document(60, [(at, at + 2) for at in range(0, 60, 2)]), frame(24))
    assert [(one.source.max(), one.source[one.source >= 0].min()) for one in windows[:2]] == [(13, 0), (23, 10)]
    assert all(len(one.ids) <= 24 for one in windows)


def test_chunks_over_a_quarter_still_overlap_where_two_fit():
    windows = layout(document(32, [(0, 8), (8, 16), (16, 24), (24, 32)]), frame(21))
    assert [sorted({int(at) // 8 for at in one.source if at >= 0}) for one in windows] == [[0, 1], [1, 2], [2, 3]]


def test_a_chunk_longer_than_the_window_is_read_in_pieces_without_separators():
    windows = layout(document(50, [(0, 50)]), frame(22))
    assert len(windows) > 1
    assert all(SEPARATOR not in one.ids for one in windows)
    assert sum(len(one.positions) for one in windows) == 50


def test_a_query_is_pooled_over_its_specials_and_cut_to_the_window():
    one = question(np.arange(30), frame(10), row=3)
    assert one.ids.tolist() == [START, *range(8), END]
    assert one.positions.tolist() == list(range(10)) and set(one.rows.tolist()) == {3}
