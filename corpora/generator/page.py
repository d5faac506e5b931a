"""A text under construction that knows where each of its sentences stands."""

from __future__ import annotations

from corpora.documents import Span


class Page:
    """Sentences joined by spaces, paragraphs by blank lines; each call returns the span just written."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._gap = ""

    def heading(self, text: str) -> Span:
        """A paragraph of its own."""
        self.paragraph()
        span = self.sentence(text)
        self.paragraph()
        return span

    def paragraph(self) -> None:
        """What comes next begins a paragraph."""
        self._gap = "\n\n" if self._length else ""

    def line(self, text: str) -> Span:
        """A line of its own inside the paragraph."""
        if self._gap == " ":
            self._gap = "\n"
        return self.sentence(text)

    def sentence(self, text: str) -> Span:
        start = self._length + len(self._gap)
        self._pieces += (self._gap, text)
        self._length = start + len(text)
        self._gap = " "
        return start, self._length

    @property
    def text(self) -> str:
        return "".join(self._pieces)
