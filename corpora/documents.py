"""Documents, queries and the character spans that label them (DESIGN section 4).

Offsets are Python string positions (code points), start inclusive, end exclusive.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from functools import cached_property

Span = tuple[int, int]
Alternative = tuple[Span, ...]
"""Spans that belong together: the alternative is found when all of them are."""
Group = tuple[Alternative, ...]
"""Alternatives of one piece of evidence: the group is recovered when one of them is."""


@dataclass(frozen=True)
class Document:
    id: str
    text: str
    title: str | None = None
    domain: str | None = None
    language: str | None = None
    family: str | None = None
    chunks: tuple[Span, ...] | None = None


@dataclass(frozen=True)
class Target:
    """One document that a query asks for.

    `answers` are alternatives, any one answers; `evidence` are groups, all needed;
    without answers the target counts for document retrieval only; a grade of 0 or
    less is judged, but never the document sought and never a training pair.
    """

    document: str
    grade: int = 1
    answers: tuple[Span, ...] = ()
    evidence: tuple[Group, ...] = ()
    quotes: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Query:
    id: str
    text: str
    targets: tuple[Target, ...]
    domain: str | None = None
    ability: str | None = None


@dataclass(frozen=True)
class Corpus:
    name: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...] = field(default=())

    @cached_property
    def position(self) -> dict[str, int]:
        """Document id -> position in `documents`."""
        return {document.id: place for place, document in enumerate(self.documents)}

    @cached_property
    def sha256(self) -> str:
        """Hash of the content; the name does not count, so copies share caches."""
        digest = hashlib.sha256()
        for record in (*self.documents, *self.queries):
            digest.update(json.dumps(asdict(record), ensure_ascii=True, sort_keys=True).encode())
            digest.update(b"\n")
        return digest.hexdigest()
