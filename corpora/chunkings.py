"""Chunkings: how a document is cut, by character offsets, under one spelling each (DESIGN sections 2 and 5)."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

import numpy as np

from corpora.documents import Document
from corpora.errors import InputError, Problem

NAMES = ("sentence", "paragraph", "given", "whole")
RULE = "a chunking is `sentence`, `paragraph`, `given`, `whole`, `tokens:N` or `tokens:N/r` (N tokens, 999999999 at most; overlap share r)"

_TOKENS = re.compile(r"tokens:([1-9][0-9]{0,8})(?:/(0\.[0-9]*[1-9]))?", re.ASCII)
_LOOSE_TOKENS = re.compile(r"\s*to?k?e?n?s?\W*([0-9]{1,9})\s*(?:/\s*([0-9]*\.?[0-9]*)\s*)?", re.IGNORECASE | re.ASCII)
_SPACE = re.compile(r"\s*")
_BLANK_LINES = re.compile(r"(?:\r\n|\r(?!\n)|\n)[^\S\r\n]*(?:\r\n|\r(?!\n)|\n)\s*|\u2029\s*")
# The sentence library counts every white-space character before a full stop as one byte and panics on wider
# ones (a no-break space before "." suffices): it is shown a plain space, one code point for one code point.
_PLAIN_SPACE = {code: " " for code in range(128, 0x3001) if chr(code).isspace()} | {
    0x85: "\n",
    0x2028: "\n",
    0x2029: "\n",
}

# Languages of which the sentence library has rules that differ from the English ones in their own script alone; and a text
# that all others cut elsewhere than English does.
_NEAR_ENGLISH = frozenset("ar bn en gu hi ja kn ml mr my pa ta te".split())
_UNLIKE_ENGLISH = "Am 3. Januar war er in Tenn. Smith, bei Hr. Maier. Nr. Smith, No. Smith, Prof. Smith. Ο κ. Γιάννης."


@dataclass(frozen=True)
class Chunking:
    """One way to cut documents; `window` and `overlap` count for kind `tokens` only."""

    kind: str
    window: int = 0
    overlap: Decimal = Decimal(0)

    @classmethod
    def parse(cls, spelling: str) -> Chunking:
        if spelling in NAMES:
            return cls(spelling)
        match = _TOKENS.fullmatch(spelling) if isinstance(spelling, str) else None
        if match:
            return cls("tokens", int(match[1]), Decimal(match[2] or 0))
        raise ValueError(f"{RULE}; found {spelling!r}; nearest valid spelling: `{_nearest(str(spelling))}`")

    def __str__(self) -> str:
        if self.kind != "tokens":
            return self.kind
        return f"tokens:{self.window}" + (f"/{self.overlap:f}" if self.overlap else "")

    @property
    def step(self) -> int:
        """Tokens from one window's start to the next one's; the share is decimal as written, so 0.29 of 100 is 29."""
        return self.window - math.floor(self.window * self.overlap)

    def spans(self, document: Document, offsets: np.ndarray | None = None) -> np.ndarray:
        """Character spans int64 `[chunks, 2]`, before chunks without tokens are joined.

        All but `given` (the publisher's own) tile the text, or overlap as stated for `tokens:N/r`.
        `offsets` int `[tokens, 2]` are needed by `tokens` alone.
        """
        if self.kind == "given":
            return _given(document)
        if self.kind == "whole":
            return _tiles(document.text, ())
        if self.kind == "sentence":
            return _tiles(document.text, _sentence_starts(document))
        if self.kind == "paragraph":
            return _tiles(document.text, (match.end() for match in _BLANK_LINES.finditer(document.text)))
        if offsets is None:
            raise ValueError(f"{self} counts tokens: pass the document's token offsets")
        return self._windows(document.text, offsets)

    def _windows(self, text: str, offsets: np.ndarray) -> np.ndarray:
        """Windows of `window` tokens every `step`, up to the first that reaches the end.

        A window runs from its first token's first character to the first character after it that a later
        token begins with. Tokens that share a character stay together, so a code point is never split.
        """
        tokens = len(offsets)
        if not tokens:
            return _tiles(text, ())
        windows = 1 + max(0, math.ceil((tokens - self.window) / self.step))
        first = np.arange(windows, dtype=np.int64) * self.step
        edges = np.append(np.asarray(offsets[:, 0], np.int64), len(text))
        edges[edges == edges[0]] = 0
        spans = np.stack([edges[first], edges[np.minimum(first + self.window, tokens)]], axis=1)
        return spans[spans[:, 0] < spans[:, 1]]


def _given(document: Document) -> np.ndarray:
    if document.chunks is None:
        raise InputError(
            Problem(
                f"document {document.id!r}",
                "has no `chunks`, which the chunking `given` needs: give them, or use another chunking",
            )
        )
    return np.array(document.chunks, np.int64).reshape(-1, 2)


def _sentence_starts(document: Document) -> list[int]:
    return _boundaries(document.language or "en", document.text.translate(_PLAIN_SPACE))


def _boundaries(language: str, text: str) -> list[int]:
    from sentencex import get_sentence_boundaries

    found = get_sentence_boundaries(_primary(language), text)
    return [sentence["start_index"] for sentence in found]


def _primary(language: str) -> str:
    """`pt` of pt-BR and pt_BR: the sentence library knows no more."""
    return language.replace("_", "-").split("-")[0].lower()


@cache
def has_sentence_rules(language: str) -> bool:
    """Whether sentences are cut by rules of this language, or of one that the library takes for it; else by English ones.

    The library does not say which, so it is shown a text that tells.
    """
    if _primary(language) in _NEAR_ENGLISH:
        return True
    return _boundaries(language, _UNLIKE_ENGLISH) != _boundaries("en", _UNLIKE_ENGLISH)


def _tiles(text: str, starts: Iterable[int]) -> np.ndarray:
    """Spans int64 `[chunks, 2]` that tile the text, one from each start to the next.

    White space at a start goes to the piece before it, so a piece of nothing else joins the
    preceding one; the first piece begins at 0, whatever it begins with.
    """
    moved = {_SPACE.match(text, start).end() for start in starts}
    body = _SPACE.match(text).end()
    edges = np.array([0, *sorted(start for start in moved if body < start < len(text)), len(text)], np.int64)
    return np.stack([edges[:-1], edges[1:]], axis=1)


def _nearest(spelling: str) -> str:
    """The valid spelling that the user most likely meant."""
    match = _LOOSE_TOKENS.fullmatch(spelling)
    if match:
        share = Decimal(match[2]) if (match[2] or "").strip(".") else Decimal(0)
        share = share.normalize() if share < 1 else Decimal(0)
        return str(Chunking("tokens", max(1, int(match[1])), share))
    names = (*NAMES, "tokens:256")
    return difflib.get_close_matches(spelling.strip().lower(), names, n=1, cutoff=0)[0]
