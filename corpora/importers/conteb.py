"""ConTEB sets: chunks with ids `document_number`, queries that ask for chunks (DESIGN section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from corpora.documents import Corpus, Span, Target
from corpora.errors import InputError, Problem
from corpora.importers.building import Building, joined
from corpora.importers.report import ImportReport
from corpora.importers.tables import identifier, named_table
from corpora.spans import cuts_word, trim


LONGEST_NUMBER = 18
"""Digits of a chunk's number; what is longer is part of a name, such as a hash."""


@dataclass(frozen=True)
class _Place:
    document: str
    span: Span
    text: str


def read(source: str, report: ImportReport) -> Corpus:
    """A folder with the tables `documents` (chunk_id, chunk) and `queries` (query, chunk_id or chunk_ids, answer?),
    or a hub id. Chunks stay as given, in the order of their numbers, joined by a blank line."""
    building = Building(Path(source).name, report)
    chunks: dict[str, tuple[str, str]] = {}
    for where, row in named_table(source, "documents"):
        _need(where, row, "chunk_id", "chunk")
        name, text = identifier(row["chunk_id"]), row["chunk"]
        if not isinstance(text, str) or not text.strip() or not name:
            report.dropped("chunk", "no text or no id", where, f"{name} {text}")
        elif name in chunks:
            report.dropped("chunk", "id used before: queries cannot tell them apart", where, name)
        else:
            chunks[name] = (where, text)
    places = _documents(building, chunks)
    for number, (where, row) in enumerate(named_table(source, "queries")):
        _need(where, row, "query")
        _query(building, report, where, row, f"q{number:06d}", places)
    return building.corpus()


def _documents(building: Building, chunks: dict[str, tuple[str, str]]) -> dict[str, _Place]:
    """Keeps one document per prefix of the chunk ids; where each chunk stands."""
    members: dict[str, list[tuple[int, str]]] = {}
    for name in chunks:
        document, _, number = name.rpartition("_")
        if document and number.isdecimal() and len(number) <= LONGEST_NUMBER:
            members.setdefault(document, []).append((int(number), name))
        else:
            members.setdefault(name, []).append((0, name))
    places = {}
    for document, numbered in members.items():
        names = [name for _, name in sorted(numbered, key=lambda pair: pair[0])]
        text, spans = joined([chunks[name][1] for name in names])
        kept = building.document(document, text, chunks[names[0]][0], chunks=spans)
        if kept is not None:
            places |= {name: _Place(kept, span, text) for name, span in zip(names, spans, strict=True)}
    return places


def _query(building: Building, report: ImportReport, where: str, row: dict, name: str, places: dict) -> None:
    wanted = row.get("chunk_ids") if row.get("chunk_ids") is not None else row.get("chunk_id")
    if wanted is None:
        raise InputError(Problem(where, f"needs `chunk_id` or `chunk_ids`; has {', '.join(row)}"))
    answers: dict[str, list[Span]] = {}
    for chunk in map(identifier, wanted if isinstance(wanted, list) else [wanted]):
        place = places.get(chunk)
        if place is None:
            report.dropped("answer", "in an unknown or dropped chunk", where, chunk)
        else:
            answers.setdefault(place.document, []).append(_answer(place, row.get("answer")))
    text = row["query"] if isinstance(row["query"], str) else ""
    targets = [Target(document, answers=tuple(spans)) for document, spans in answers.items()]
    building.query(identifier(row.get("query_id")) or identifier(row.get("id")) or name, text, targets, where)


def _answer(place: _Place, answer: object) -> Span:
    """Where the answer's own words stand, if they stand once in the chunk; else the whole chunk."""
    start, end = place.span
    words = answer.strip() if isinstance(answer, str) else ""
    if words and place.text.count(words, start, end) == 1:
        found = place.text.index(words, start, end)
        if not cuts_word(place.text, (found, found + len(words))):
            return found, found + len(words)
    return trim(place.text, place.span)


def _need(where: str, row: dict, *columns: str) -> None:
    missing = [column for column in columns if column not in row]
    if missing:
        raise InputError(Problem(where, f"lacks {', '.join(missing)}; has {', '.join(row)}"))
