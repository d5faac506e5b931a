"""A text under construction that knows where each of its sentences stands."""

from __future__ import annotations

from corpora.documents import Span


class Page:
    """Sentences joined by spaces, paragraphs by blank lines; each call returns the span just written."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._fresh = True

    def heading(self, text: str) -> Span:
        """A paragraph of its own."""
        self.paragraph()
        span = self.sentence(text)
        self.paragraph()
        return span

    def paragraph(self) -> None:
        self._fresh = True

    def sentence(self, text: str) -> Span:
        gap = "" if not self._length else "\n\n" if self._fresh else " "
        start = self._length + len(gap)
        self._pieces += (gap, text)
        self._length = start + len(text)
        self._fresh = False
        return start, self._length

    @property
    def text(self) -> str:
        return "".join(self._pieces)
