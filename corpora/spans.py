"""Arithmetic on character spans: trimming, and which chunks are relevant to a span (DESIGN section 6)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from corpora.documents import Span


def trim(text: str, span: Span) -> Span:
    """The span without the white space at its edges; (start, start) when nothing is left."""
    start, end = span
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    return start, start + len(piece.strip())


def cuts_word(text: str, span: Span) -> bool:
    """Whether a span without spaces begins or ends inside a word or a number: between two letters that have cases, or
    digits. A phrase stands nowhere by chance, and of scripts without cases nothing is said: some write no spaces,
    others join particles to words.
    """
    if any(map(str.isspace, text[slice(*span)])):
        return False
    return any(0 < edge < len(text) and _is_wordly(text[edge - 1]) and _is_wordly(text[edge]) for edge in span)


def _is_wordly(character: str) -> bool:
    return character.isdecimal() or character.lower() != character.upper()


def covering(span: Span, chunk_span: np.ndarray) -> np.ndarray:
    """Positions, ascending, of the chunks `[chunks, 2]` that contain the span whole."""
    start, end = span
    return np.flatnonzero((chunk_span[:, 0] <= start) & (end <= chunk_span[:, 1]))


def overlapping(span: Span, chunk_span: np.ndarray) -> np.ndarray:
    """Positions, ascending, of the chunks `[chunks, 2]` that share a character with the span."""
    start, end = span
    return np.flatnonzero((chunk_span[:, 0] < end) & (start < chunk_span[:, 1]))


def relevant(span: Span, chunk_span: np.ndarray) -> np.ndarray:
    """Positions of the chunks that contain the trimmed span whole, else of all that overlap it."""
    whole = covering(span, chunk_span)
    return whole if len(whole) else overlapping(span, chunk_span)


def relevant_chunks(spans: Iterable[Span], chunk_span: np.ndarray) -> np.ndarray:
    """Union of `relevant` over the trimmed spans of one document: sorted positions in `chunk_span` `[chunks, 2]`."""
    found = [relevant(span, chunk_span) for span in spans]
    return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)
