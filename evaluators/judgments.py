"""What counts as right for each query under one chunking, derived from character spans (DESIGN section 6).

Documents with identical texts are one set as gold: they share judgments, answers and evidence, save in the `spans`
suite, which knows only the named document. Positions are those of the corpus and of the chunk table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from corpora.chunks import ChunkTable
from corpora.documents import Corpus, Query, Span, Target
from corpora.spans import covering, overlapping, relevant_chunks, trim

Need = tuple[list[int], bool]
"""Chunks (positions in the table, ascending) that recover one span, and whether all of them are needed."""


@dataclass(frozen=True)
class Path:
    """One answer path in one document: its relevant chunks, and the needs of each alternative of each group."""

    relevant: frozenset[int]
    groups: tuple[tuple[tuple[Need, ...], ...], ...]


@dataclass(frozen=True)
class NamedSpan:
    """An answer span, trimmed, in the document that its target names."""

    document: int
    span: Span


class Judgments:
    """Judgments of all queries of a corpus against the chunks of `table`."""

    def __init__(self, corpus: Corpus, table: ChunkTable):
        self.corpus, self.table = corpus, table
        self.queries = len(corpus.queries)

    @cached_property
    def twins(self) -> list[list[int]]:
        """Per document the positions of all documents with its text, itself included, ascending."""
        same: dict[str, list[int]] = {}
        for place, document in enumerate(self.corpus.documents):
            same.setdefault(document.text, []).append(place)
        return [same[document.text] for document in self.corpus.documents]

    @cached_property
    def grades(self) -> list[dict[int, int]]:
        """Per query the judged documents and their highest grade."""
        return [self._grades(query) for query in self.corpus.queries]

    @cached_property
    def targets(self) -> list[dict[int, list[Target]]]:
        """Per query the target documents (grade above 0) and the targets that stand for each, in the query's order."""
        return [self._targets(query) for query in self.corpus.queries]

    @cached_property
    def relevant(self) -> list[np.ndarray]:
        """Per query the relevant chunks, ascending; empty for queries without answers."""
        return [_union([self._relevant(document, targets) for document, targets in found.items()])
                for found in self.targets]

    @cached_property
    def paths(self) -> list[dict[int, list[Path]]]:
        """Per query the target documents that have evidence groups, each with all its paths; empty for queries
        without groups or without answers."""
        return [self._paths(found) if len(relevant) else {}
                for found, relevant in zip(self.targets, self.relevant, strict=True)]

    @cached_property
    def named(self) -> list[list[NamedSpan]]:
        """Per query the answer spans in the documents it names."""
        return [[NamedSpan(place, self._trim(place, span))
                 for target in query.targets if target.grade > 0
                 for place in [self.corpus.position[target.document]] for span in target.answers]
                for query in self.corpus.queries]

    @cached_property
    def whole(self) -> list[np.ndarray]:
        """Per query the chunks of the named documents that cover an answer span whole, ascending."""
        return [_union([covering(each.span, self.table.span[rows]) + rows.start
                        for each in named for rows in [self.table.of(each.document)]])
                for named in self.named]

    def _grades(self, query: Query) -> dict[int, int]:
        found: dict[int, int] = {}
        for target in query.targets:
            for place in self.twins[self.corpus.position[target.document]]:
                found[place] = max(found.get(place, target.grade), target.grade)
        return found

    def _targets(self, query: Query) -> dict[int, list[Target]]:
        found: dict[int, list[Target]] = {}
        for target in query.targets:
            if target.grade > 0:
                for place in self.twins[self.corpus.position[target.document]]:
                    found.setdefault(place, []).append(target)
        return found

    def _trim(self, document: int, span: Span) -> Span:
        return trim(self.corpus.documents[document].text, span)

    def _relevant(self, document: int, targets: list[Target]) -> np.ndarray:
        rows = self.table.of(document)
        spans = [self._trim(document, span) for target in targets for span in target.answers]
        return relevant_chunks(spans, self.table.span[rows]) + rows.start

    def _paths(self, found: dict[int, list[Target]]) -> dict[int, list[Path]]:
        return {document: [Path(frozenset(self._relevant(document, [target]).tolist()), self._groups(document, target))
                           for target in targets]
                for document, targets in found.items() if any(target.evidence for target in targets)}

    def _groups(self, document: int, target: Target) -> tuple[tuple[tuple[Need, ...], ...], ...]:
        return tuple(tuple(tuple(self._need(document, span) for span in alternative) for alternative in group)
                     for group in target.evidence)

    def _need(self, document: int, span: Span) -> Need:
        """One chunk that contains the span whole suffices; without such a chunk all that overlap it are needed."""
        rows = self.table.of(document)
        span, chunks = self._trim(document, span), self.table.span[rows]
        whole = covering(span, chunks)
        parts = whole if len(whole) else overlapping(span, chunks)
        return (parts + rows.start).tolist(), not len(whole)


def _union(parts: list[np.ndarray]) -> np.ndarray:
    return np.unique(np.concatenate(parts)) if parts else np.empty(0, np.int64)
