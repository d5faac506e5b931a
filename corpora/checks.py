"""What a corpus is refused for, and what it is warned of (DESIGN section 4)."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from corpora.chunkings import has_sentence_rules
from corpora.documents import Corpus, Document, Query, Span, Target
from corpora.errors import Problem

LARGEST_FAMILY = 0.1
"""Share of a corpus above which a family is warned of: it swallows a split."""
T = TypeVar("T")
_SHOWN = 40
_SHOWN_ALIKE = 5
# The shape of BCP 47 (RFC 5646, 2.1): a language, then subtags of up to eight letters and digits.
_LANGUAGE = re.compile(r"(?:[A-Za-z]{2,3}|[A-Za-z]{5,8}|[xi](?=-))(?:-[A-Za-z0-9]{1,8})*")


@dataclass(frozen=True)
class Places:
    """Lines of the records in their files; `unreadable`: some records could not be built, so ids may be missing."""

    documents: Sequence[int]
    queries: Sequence[int]
    unreadable: bool = False

    def document(self, corpus: Corpus, place: int) -> str:
        return f"documents.jsonl:{self.documents[place]}" if self.documents else _name(corpus.documents[place])

    def query(self, corpus: Corpus, place: int) -> str:
        return f"queries.jsonl:{self.queries[place]}" if self.queries else _name(corpus.queries[place])


NOWHERE = Places((), ())


def problems(corpus: Corpus, places: Places = NOWHERE) -> list[Problem]:
    """Everything that refuses the corpus. Without `places`, records are named by their ids.

    What is None in a record that should not be was refused when it was read, and is passed over.
    """
    found = [
        *_repeated("document", corpus.documents, lambda place: places.document(corpus, place)),
        *_repeated("query", corpus.queries, lambda place: places.query(corpus, place)),
    ]
    texts: dict[str, str] = {}
    unknown: list[Problem] = []
    for place, document in enumerate(corpus.documents):
        texts.setdefault(document.id, document.text)
        where = places.document(corpus, place)
        if document.text is None:
            continue
        if not document.text.strip():
            found.append(Problem(where, "text is empty"))
        found += [Problem(where, message) for message in _chunks(document)]
    for place, query in enumerate(corpus.queries):
        where = places.query(corpus, place)
        if query.text is not None and not query.text.strip():
            found.append(Problem(where, "text is empty"))
        if not query.targets:
            found.append(Problem(where, "targets is missing or empty: a query names at least one document"))
        for number, target in _read(query.targets):
            if target.document is None:
                continue
            if places.unreadable and target.document not in texts:
                unknown.append(Problem(where, f"targets[{number}].{_unknown(target)} (some documents could not be read)"))
                continue
            found += [Problem(where, f"targets[{number}].{message}") for message in _target(target, texts)]
    if len(unknown) > _SHOWN_ALIKE:  # of a file that cannot be read at all they are as many as the targets
        unknown = [Problem("queries.jsonl", f"{len(unknown):,} targets name documents that are not in documents.jsonl "
                           "(some documents could not be read): mend documents.jsonl first")]
    return found + unknown


def warnings(corpus: Corpus, families: Sequence[str | None] | None = None, places: Places = NOWHERE) -> list[Problem]:
    """What deserves a look. `families`: one per document, else the documents' own."""
    families = families or [document.family for document in corpus.documents]
    return [*_identical_texts(corpus, places), *_odd_fields(corpus, places), *_languages_without_rules(corpus.documents),
            *_large_families(families), *_answered_evidence(corpus, places), *_contradictions(corpus, places)]


def _read(values: Sequence[T | None]) -> Iterator[tuple[int, T]]:
    """Those that could be read, each with its place."""
    return ((place, value) for place, value in enumerate(values) if value is not None)


def _name(record: Document | Query) -> str:
    return f"{type(record).__name__.lower()} {record.id!r}"


def _repeated(name: str, records: Sequence[Document | Query], where) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for place, record in enumerate(records):
        if not record.id:
            continue
        if record.id in first:
            yield Problem(
                where(place), f"{name} id {record.id!r} stands already at {where(first[record.id])}: ids are unique"
            )
        first.setdefault(record.id, place)


def _chunks(document: Document) -> Iterator[str]:
    for number, (start, end) in _read(document.chunks or ()):
        if not 0 <= start <= end <= len(document.text):
            yield f"chunks[{number}] {_outside(start, end, document.text)}"
        elif start == end:
            yield f"chunks[{number}] [{start}, {end}] is empty"


def _unknown(target: Target) -> str:
    return f"document {target.document!r} is not in documents.jsonl"


def _target(target: Target, texts: dict[str, str]) -> Iterator[str]:
    if target.document not in texts:
        yield _unknown(target)
    text = texts.get(target.document)
    if text is None:
        return
    for number, span in _read(target.answers):
        yield from _span(f"answers[{number}]", span, text)
    for number, group in enumerate(target.evidence):
        for choice, alternative in enumerate(group):
            for part, span in _read(alternative):
                yield from _span(f"evidence[{number}][{choice}][{part}]", span, text)
    if target.quotes is None:
        return
    if len(target.quotes) != len(target.answers):
        yield f"quotes holds {len(target.quotes)} for {len(target.answers)} answers: one for each"
    for number, (quote, span) in enumerate(zip(target.quotes, target.answers, strict=False)):
        if span is None or not isinstance(quote, str):
            continue
        start, end = span
        if 0 <= start < end <= len(text) and text[start:end] != quote:
            yield (
                f"quotes[{number}] is {_shown(quote)}, but answers[{number}] [{start}, {end}] "
                f"holds {_shown(text[start:end])}: offsets count code points from 0"
            )


def _span(name: str, span: Span, text: str) -> Iterator[str]:
    start, end = span
    if not 0 <= start <= end <= len(text):
        yield f"{name} {_outside(start, end, text)}"
    elif not text[start:end].strip():
        yield f"{name} [{start}, {end}] is {'empty' if start == end else 'white space'}: it marks no text"


def _outside(start: int, end: int, text: str) -> str:
    if start > end:
        return f"[{start}, {end}] runs backwards: [start, end], start before end"
    return f"[{start}, {end}] lies outside the text, which has {len(text)} characters"


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def _identical_texts(corpus: Corpus, places: Places) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for place, document in enumerate(corpus.documents):
        twin = first.setdefault(document.text, place)
        if twin != place:
            yield Problem(
                places.document(corpus, place),
                f"document {document.id!r} has the text of "
                f"{corpus.documents[twin].id!r}: as gold they are one, and share judgments",
            )


def _odd_fields(corpus: Corpus, places: Places) -> Iterator[Problem]:
    for place, document in enumerate(corpus.documents):
        if document.family is not None and not document.family.strip():
            yield Problem(places.document(corpus, place), f"family is {document.family!r}: all documents that say so are one family; "
                          "leave it out, and near-duplicates become families")
        if document.language is not None and not _LANGUAGE.fullmatch(document.language):
            yield Problem(places.document(corpus, place), f"language is {document.language!r}, which is no language tag: "
                          "en, de, pt-BR, zh-Hant (BCP 47)")


def _languages_without_rules(documents: Sequence[Document]) -> Iterator[Problem]:
    for language, count in Counter(document.language for document in documents if document.language).items():
        if not has_sentence_rules(language):
            yield Problem(f"language {language!r}", f"has no sentence rules: English ones cut its {count:,} document{'s' * (count > 1)}; "
                          "of a language that has a tag of two letters, only that is known: de, not deu")


def _large_families(families: Sequence[str | None]) -> Iterator[Problem]:
    for family, count in Counter(family for family in families if family is not None).items():
        if count > max(1, LARGEST_FAMILY * len(families)):  # one document is no family that could be smaller
            yield Problem(
                f"family {family!r}",
                f"holds {count} of {len(families)} documents, over "
                f"{LARGEST_FAMILY:.0%}: a family goes to one split whole",
            )


def _answered_evidence(corpus: Corpus, places: Places) -> Iterator[Problem]:
    found = [(place, number, group)
             for place, query in enumerate(corpus.queries)
             for number, target in enumerate(query.targets)
             for group, alternatives in enumerate(target.evidence)
             if all(_touches(alternative, target.answers) for alternative in alternatives)]
    for place, number, group in found[:_SHOWN_ALIKE]:
        yield Problem(places.query(corpus, place), f"query {corpus.queries[place].id!r}: every alternative of "
                      f"targets[{number}].evidence[{group}] touches an answer: it is no distant context")
    if len(found) > _SHOWN_ALIKE:  # a whole import may be so, and other warnings are to be seen
        queries = len({place for place, _, _ in found})
        yield Problem("queries.jsonl", f"and {len(found) - _SHOWN_ALIKE:,} more evidence groups like these, together {len(found):,} of "
                      f"{queries:,} queries: EvidenceRecall counts answers there, not distant context")


def _contradictions(corpus: Corpus, places: Places) -> Iterator[Problem]:
    for place, query in enumerate(corpus.queries):
        grades: dict[str, set[int]] = defaultdict(set)
        for target in query.targets:
            grades[target.document].add(target.grade)
        for document, found in grades.items():
            if len(found) > 1:
                yield Problem(places.query(corpus, place), f"query {query.id!r} grades document {document!r} "
                              f"{', '.join(map(str, sorted(found)))}: the highest counts")


def _touches(spans: Sequence[Span], answers: Sequence[Span]) -> bool:
    return any(start < last and first < end for start, end in spans for first, last in answers)
