"""What luck gives: K over the answer candidates of a family."""

from __future__ import annotations

import re

from corpora.documents import Corpus, Span

NUMBER = re.compile(r"\d(?:[\d.,]*\d)?")


def candidates(corpus: Corpus) -> dict[str, list[tuple[str, Span]]]:
    """Per family, each sentence (document id, span) that has the shape of one of the family's answers.

    The shape is the answer with its numbers left open, and with them an opening phrase that a comma
    sets off ("For Lot A, "). Documents without a family are one of their own.
    """
    family_of = {document.id: document.family or document.id for document in corpus.documents}
    text_of = {document.id: document.text for document in corpus.documents}
    shapes: dict[str, set[str]] = {}
    for query in corpus.queries:
        for target in query.targets:
            for start, end in target.answers:
                answer = text_of[target.document][start:end]
                shapes.setdefault(family_of[target.document], set()).add(_shape(answer))
    found: dict[str, list[tuple[str, Span]]] = {family: [] for family in shapes}
    patterns = {family: _any_of(forms) for family, forms in shapes.items()}
    for document in corpus.documents:
        family = family_of[document.id]
        if family in patterns:
            found[family] += [(document.id, match.span()) for match in patterns[family].finditer(document.text)]
    return found


def chance(corpus: Corpus, k: int) -> float:
    """Mean over the queries with answers of min(1, k / candidates of the query's family)."""
    sizes = {family: len(spans) for family, spans in candidates(corpus).items()}
    family_of = {document.id: document.family or document.id for document in corpus.documents}
    lucks = [min(1.0, k / sizes[family_of[target.document]])
             for query in corpus.queries for target in query.targets[:1] if target.answers]
    return sum(lucks) / len(lucks) if lucks else float("nan")


def _shape(answer: str) -> str:
    return NUMBER.sub("\0", answer).split(", ", 1)[-1]


def _any_of(shapes: set[str]) -> re.Pattern[str]:
    """One pattern for all shapes, either case at the start, with or without an opening phrase."""
    forms = [f"(?i:{re.escape(shape[0])}){re.escape(shape[1:])}".replace("\0", NUMBER.pattern)
             for shape in sorted(shapes, key=lambda shape: (-len(shape), shape))]
    return re.compile(rf"(?:\b[^\W\d_][^.,\n]*, )?(?:{'|'.join(forms)})")
