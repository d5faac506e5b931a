"""Text with what matters in it marked: answers, evidence, and a teacher's scores as shades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from corpora.documents import Span

if TYPE_CHECKING:
    from markupsafe import Markup

LEVELS = 8
AROUND = 160
"""Characters of context on either side of a passage."""
LONGEST = 1_200
"""Characters that one retrieved chunk shows at most."""
Layers = Mapping[str, Sequence[Span]]
"""CSS class -> spans of the document's text."""


def marked(text: str, span: Span, layers: Layers) -> Markup:
    """The escaped characters of `span`; each run under the same layers is one element with their classes."""
    from markupsafe import Markup, escape

    start, end = span
    under = np.zeros(end - start, np.int64)  # one bit a layer
    for bit, spans in enumerate(layers.values()):
        for low, high in spans:
            under[max(low - start, 0):max(high - start, 0)] |= 1 << bit
    edges = [0, *(np.flatnonzero(np.diff(under)) + 1).tolist(), len(under)]
    found = []
    for first, last in zip(edges, edges[1:], strict=False):
        classes = " ".join(name for bit, name in enumerate(layers) if first < last and under[first] >> bit & 1)
        piece = escape(text[start + first:start + last])
        found.append(Markup('<span class="{}">{}</span>').format(classes, piece) if classes else piece)
    return Markup("").join(found)


def passages(text: str, spans: Sequence[Span], layers: Layers) -> Markup:
    """The spans with some text around, in reading order, joined where they meet."""
    windows: list[list[int]] = []
    for start, end in sorted((max(0, start - AROUND), min(len(text), end + AROUND)) for start, end in spans):
        if windows and start <= windows[-1][1]:
            windows[-1][1] = max(windows[-1][1], end)
        else:
            windows.append([start, end])
    return _joined(text, [(start, end) for start, end in windows], layers)


def excerpt(text: str, span: Span, layers: Layers) -> Markup:
    """The chunk, cut to LONGEST characters where it is longer: those around its first mark, else its beginning."""
    start, end = span
    if end - start > LONGEST:
        marks = [max(start, low) for spans in layers.values() for low, high in spans if low < end and high > start]
        start = max(start, min(min(marks, default=start) - AROUND, end - LONGEST))
        end = min(end, start + LONGEST)
    return _joined(text, [(start, end)], layers, span)


def shades(starts: np.ndarray, ends: np.ndarray, scores: np.ndarray) -> tuple[dict[str, list[Span]], float, float]:
    """Layers `heat-1` ... `heat-8` of a teacher's rows int, int, float `[rows]`, and what the lightest and the darkest
    stand for: 0 and 1 where all scores are shares, else the lowest and the highest.

    Neighbours of one level are one span; the lowest level is left white. Where rows overlap the higher counts.
    """
    low, high = (0.0, 1.0) if scores.min() >= 0 and scores.max() <= 1 else (float(scores.min()), float(scores.max()))
    level = np.minimum((np.clip((scores - low) / ((high - low) or 1), 0, 1) * (LEVELS + 1)).astype(int), LEVELS)
    first = int(starts.min())
    painted = np.zeros(int(ends.max()) - first, int)
    for start, end, each in zip(starts.tolist(), ends.tolist(), level.tolist(), strict=True):
        np.maximum(painted[start - first:end - first], each, out=painted[start - first:end - first])
    edges = np.flatnonzero(np.diff(painted)) + 1
    layers: dict[str, list[Span]] = {}
    for start, end in zip([0, *edges.tolist()], [*edges.tolist(), len(painted)], strict=True):
        if painted[start]:
            layers.setdefault(f"heat-{painted[start]}", []).append((start + first, end + first))
    return layers, low, high


def _joined(text: str, spans: Sequence[Span], layers: Layers, within: Span | None = None) -> Markup:
    """Pieces with dots for what is left out between, before and after them (of `within`, else of the text)."""
    from markupsafe import Markup

    start, end = within or (0, len(text))
    found = Markup("" if not spans or spans[0][0] == start else "… ")
    found += Markup(" … ").join(marked(text, span, layers) for span in spans)
    return found + ("" if not spans or spans[-1][1] == end else " …")
