"""The suites by name: which chunkings each reads, and its values per query from one view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evaluators.suites import chunk_size, conteb, context, q2c, q2d, spans, storage
from evaluators.views import Values, View

WHOLE = "whole"
SENTENCE = "sentence"
GIVEN = "given"


@dataclass(frozen=True)
class Wanted:
    """What decides a suite's chunkings: the caller's, the sizes of chunk-size, whether chunks know their document."""

    chunking: str | None
    chunk_sizes: tuple[int, ...]
    contextual: bool

    @property
    def usual(self) -> str:
        return self.chunking or SENTENCE

    @property
    def sizes(self) -> tuple[str, ...]:
        """`given` stands for vectors that exist already: nothing else can be cut then."""
        return (GIVEN,) if self.chunking == GIVEN else tuple(f"tokens:{size}" for size in self.chunk_sizes)

    @property
    def twice(self) -> tuple[str, ...]:
        """Encoders that see chunks alone also get the whole document as one chunk, for Document@K."""
        return (self.usual,) if self.contextual or self.chunking == GIVEN else (self.usual, WHOLE)


@dataclass(frozen=True)
class Suite:
    """`values`: None where the suite reads no chunks of the task but texts of its own, as needle does."""

    chunkings: Callable[[Wanted], tuple[str, ...]]
    values: Callable[[View], dict[str, Values]] | None


def _context(view: View) -> dict[str, Values]:
    return context.documents(view) if view.judgments.table.chunking == WHOLE else context.values(view)


SUITES = {
    "q2c": Suite(lambda wanted: (wanted.usual,), q2c.values),
    "q2d": Suite(lambda wanted: (wanted.usual,), q2d.values),
    "context": Suite(lambda wanted: wanted.twice, _context),
    "chunk-size": Suite(lambda wanted: wanted.sizes, chunk_size.values),
    "storage": Suite(lambda wanted: (wanted.usual,), storage.values),
    "spans": Suite(lambda wanted: (wanted.usual,), spans.values),
    "conteb": Suite(lambda wanted: (GIVEN,), conteb.values),
    "needle": Suite(lambda wanted: (), None),
}
