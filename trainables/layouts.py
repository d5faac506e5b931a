"""How a document lies before the model: specials, separators, windows (DESIGN section 5, Layout).

`[CLS] c1 <sep> c2 ... cn [SEP]`. A document longer than the model's window is read in
several. The rule: a window takes as many units as fit and the next one begins with the
last units of the one before, at least one where the next unit still fits beside it, at
most a quarter of a window. A unit is a chunk; a chunk longer than a window is cut into
pieces of like length, at most a quarter of a window each, without separators between
them. Each unit is pooled from the window in which its smallest distance to an edge is
largest (the first of equals); the document's ends are no edge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

CONTEXT = -1
"""In place of a chunk: tokens that lie in no `given` chunk, read but never pooled."""


@dataclass(frozen=True)
class Frame:
    """What one model puts around and between chunks, and how much it reads at once.

    start, end: its own specials (possibly none); separator: the id of the row that base+ added,
    which no text can produce; pad: fills up a batch; window: tokens read at once, specials included.
    """

    start: tuple[int, ...]
    end: tuple[int, ...]
    separator: int
    pad: int
    window: int

    @property
    def capacity(self) -> int:
        return self.window - len(self.start) - len(self.end)


@dataclass(frozen=True)
class DocumentInput:
    """ids int [tokens] of a document without specials; chunks int [chunks, 2], token ranges, in any order,
    overlapping or not."""

    ids: NDArray
    chunks: NDArray


@dataclass(frozen=True)
class Window:
    """One input of the model and what is pooled from it.

    ids: int32 [tokens], specials and separators included;
    source: int32 [tokens], the position in the document, -1 for specials and separators;
    positions: int64 [pooled], places in `ids`; rows: int64 [pooled], the vector each belongs to.
    A vector is the mean over all positions, of all windows, that belong to it.
    """

    ids: NDArray
    source: NDArray
    positions: NDArray
    rows: NDArray


def question(ids: NDArray, frame: Frame, row: int) -> Window:
    """A query, or a text on its own: specials included in the mean, as sentence-transformers does.

    Tokens beyond the window are cut off; the caller counts them.
    """
    body = np.asarray(ids, np.int32)[: frame.capacity]
    framed = np.concatenate([frame.start, body, frame.end]).astype(np.int32)
    source = np.full(len(framed), -1, np.int32)
    source[len(frame.start) : len(frame.start) + len(body)] = np.arange(len(body))
    return Window(framed, source, np.arange(len(framed)), np.full(len(framed), row))


def layout(document: DocumentInput, frame: Frame, first_row: int = 0) -> list[Window]:
    """The windows of a document; chunk j is pooled into row first_row + j. No tokens, no windows."""
    units = _units(document, frame.capacity)
    if not len(units):
        return []
    ranges = list(_ranges(units, frame.capacity))
    drafts = [_draft(document.ids, units[first:last], frame) for first, last in ranges]
    best = np.full(len(units), -1.0)
    home = np.zeros(len(units), np.int64)
    for number, (first, last) in enumerate(ranges):
        distance = _distances(drafts[number][2], first == 0, last == len(units))
        nearer = distance > best[first:last]
        best[first:last] = np.where(nearer, distance, best[first:last])
        home[first:last] = np.where(nearer, number, home[first:last])
    windows = []
    for number, (first, last) in enumerate(ranges):
        ids, source, places = drafts[number]
        own = (home[first:last] == number) & (units[first:last, 2] != CONTEXT)
        length = (places[:, 1] - places[:, 0])[own]
        positions = len(frame.start) + _runs(places[own, 0], length)
        windows.append(Window(ids, source, positions, first_row + np.repeat(units[first:last, 2][own], length)))
    return windows


def _units(document: DocumentInput, capacity: int) -> NDArray[np.int64]:
    """int64 [units, 3]: first token, last token (exclusive), chunk; in the document's order, none empty.

    All units are chunks, save pieces of a chunk longer than `capacity` and runs of `CONTEXT`, which may
    be cut anywhere and so are kept short enough to overlap.
    """
    chunks = np.asarray(document.chunks, np.int64).reshape(-1, 2)
    covered = np.zeros(len(document.ids) + 1, np.int64)
    np.add.at(covered, chunks[:, 0], 1)
    np.add.at(covered, chunks[:, 1], -1)
    outside = np.concatenate([[False], np.cumsum(covered)[:-1] == 0, [False]])
    gaps = np.flatnonzero(np.diff(outside)).reshape(-1, 2)
    ranges = np.concatenate([
        np.column_stack([chunks, np.arange(len(chunks))]),
        np.column_stack([gaps, np.full(len(gaps), CONTEXT)]),
    ])
    ranges = ranges[np.argsort(ranges[:, 0], kind="stable")]
    piece = max(capacity // 4, 1)
    units: list[tuple[int, int, int]] = []
    for first, last, chunk in ranges.tolist():
        length = last - first
        whole = length <= (piece if chunk == CONTEXT else capacity)
        count = min(length, 1) if whole else math.ceil(length / piece)
        edges = [first + length * part // count for part in range(count + 1)] if count else []
        units += [(start, end, chunk) for start, end in pairwise(edges)]
    return np.array(units, np.int64).reshape(-1, 3)


def _ranges(units: NDArray, capacity: int) -> Iterator[tuple[int, int]]:
    """The units [first, last) of each window."""
    size = _sizes(units)
    first, last = 0, 0
    while True:
        while last < len(units) and size(first, last + 1) <= capacity:
            last += 1
        yield first, last
        if last == len(units):
            return
        start = last
        while (
            start - 1 > first
            and size(start - 1, last + 1) <= capacity
            and (start == last or size(start - 1, last) <= capacity // 4)
        ):
            start -= 1
        first = start


def _sizes(units: NDArray) -> Callable[[int, int], int]:
    """size(first, last): tokens of these units in one window, with the separators between their chunks."""
    tokens = np.concatenate([[0], np.cumsum(units[:, 1] - units[:, 0])]).tolist()
    is_chunk = units[:, 2] != CONTEXT
    # The first chunk at or after each unit: a window puts no separator before its first chunk.
    following = np.where(is_chunk, np.arange(len(units)), len(units))
    following = np.append(np.minimum.accumulate(following[::-1])[::-1], len(units)).tolist()
    begun = np.concatenate([[0], np.cumsum(_begins(units[:, 2]))]).tolist()

    def size(first: int, last: int) -> int:
        chunk = following[first]
        separators = begun[last] - begun[chunk + 1] if chunk < last else 0
        return tokens[last] - tokens[first] + separators

    return size


def _begins(chunk: NDArray) -> NDArray[np.bool_]:
    """Whether a unit is a chunk's first; the pieces of a chunk follow each other."""
    return (chunk != CONTEXT) & (chunk != np.concatenate([[CONTEXT], chunk[:-1]]))


def _draft(ids: NDArray, units: NDArray, frame: Frame) -> tuple[NDArray, NDArray, NDArray]:
    """(ids int32 [tokens], source int32 [tokens], places int64 [units, 2] behind the start specials)."""
    begins = _begins(units[:, 2])
    separated = begins & (np.cumsum(begins) > 1)
    length = units[:, 1] - units[:, 0]
    ends = np.cumsum(length + separated)
    places = np.column_stack([ends - length, ends])
    body = np.full(ends[-1], frame.separator, np.int32)
    source = np.full(len(frame.start) + ends[-1] + len(frame.end), -1, np.int32)
    at, origin = _runs(places[:, 0], length), _runs(units[:, 0], length)
    body[at] = np.asarray(ids)[origin]
    source[len(frame.start) + at] = origin
    return np.concatenate([frame.start, body, frame.end]).astype(np.int32), source, places


def _distances(places: NDArray, opens: bool, closes: bool) -> NDArray[np.float64]:
    """The smaller distance of each unit to the window's two edges; an end of the document is none."""
    left = np.full(len(places), np.inf) if opens else places[:, 0].astype(np.float64)
    right = np.full(len(places), np.inf) if closes else (places[-1, 1] - places[:, 1]).astype(np.float64)
    return np.minimum(left, right)


def _runs(starts: NDArray, lengths: NDArray) -> NDArray[np.int64]:
    """start, start + 1, ... of each run, one after another."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())
