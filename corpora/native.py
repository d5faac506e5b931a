"""The native format, a folder with `documents.jsonl` and `queries.jsonl`: reading and writing (DESIGN section 4)."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable
from pathlib import Path

from corpora import checks
from corpora.documents import Alternative, Corpus, Document, Group, Query, Span, Target
from corpora.errors import InputError, Problem
from corpora.files import write_atomically
from corpora.jsonl import kind, read_lines

DOCUMENTS, QUERIES = "documents.jsonl", "queries.jsonl"
_LARGEST_GRADE = 2**31 - 1


def read(folder: Path) -> Corpus:
    """The corpus, or an `InputError` with every problem of both files, each with its folder and line."""
    try:
        return read_with_lines(folder)[0]
    except InputError as error:
        if not Path(folder).is_dir():
            raise
        raise InputError(Problem(f"{folder}/{problem.where}", problem.message) for problem in error.problems) from None


def read_with_lines(folder: Path) -> tuple[Corpus, checks.Places]:
    """The corpus and the line of each record; refuses as `read` does."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(Problem(str(folder), "no such corpus folder: it holds documents.jsonl and queries.jsonl"))
    problems: list[Problem] = []
    documents, document_lines, broken = _records(folder / DOCUMENTS, _document, problems)
    lost = broken or any(document.id is None for document in documents)
    if not documents and not problems:
        problems.append(Problem(DOCUMENTS, "holds no document: each line is one, as {\"id\": ..., \"text\": ...}"))
    queries, query_lines, _ = _records(folder / QUERIES, _query, problems)
    corpus = Corpus(folder.resolve().name, tuple(documents), tuple(queries))
    places = checks.Places(document_lines, query_lines, unreadable=lost)
    problems += checks.problems(corpus, places)
    if problems:
        order = {DOCUMENTS: 0, QUERIES: 1}
        raise InputError(sorted(dict.fromkeys(problems), key=lambda problem: _reading_order(problem.where, order)))
    return corpus, places


def write(corpus: Corpus, folder: Path) -> None:
    """Writes both files, each whole or not at all; what is absent or the default is left out."""
    folder = Path(folder)
    for name, records in (
        (DOCUMENTS, map(_plain_document, corpus.documents)),
        (QUERIES, map(_plain_query, corpus.queries)),
    ):
        write_atomically(folder / name, lambda path, records=records: _write_lines(path, records))


def _write_lines(path: Path, records: Iterable[dict]) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def _plain_document(document: Document) -> dict:
    return _present(
        {
            "id": document.id,
            "text": document.text,
            "title": document.title,
            "domain": document.domain,
            "language": document.language,
            "family": document.family,
            "chunks": document.chunks,
        }
    )


def _plain_query(query: Query) -> dict:
    targets = [
        _present(
            {
                "document": target.document,
                "grade": target.grade if target.grade != 1 else None,
                "answers": target.answers or None,
                "evidence": target.evidence or None,
                "quotes": target.quotes,
            }
        )
        for target in query.targets
    ]
    return _present(
        {"id": query.id, "text": query.text, "domain": query.domain, "ability": query.ability, "targets": targets}
    )


def _present(record: dict) -> dict:
    return {key: value for key, value in record.items() if value is not None}


def _reading_order(where: str, order: dict[str, int]) -> tuple[int, int]:
    name, _, line = where.partition(":")
    return order[name], int(line or 0)


def _records(path: Path, build: Callable, problems: list[Problem]) -> tuple[list, list[int], bool]:
    """Every record, its line, and whether some lines hold none.

    In a record that is refused, None stands for what is wrong, so that the rest of it is checked too.
    """
    records, lines, broken = [], [], []
    for number, raw in read_lines(path, broken):
        fields = _Fields(raw, "")
        records.append(build(fields))
        lines.append(number)
        problems += [Problem(f"{path.name}:{number}", message) for message in fields.messages]
    problems += broken
    return records, lines, bool(broken)


class _Fields:
    """Takes typed fields out of one JSON object and collects what is wrong with it."""

    def __init__(self, record: dict, prefix: str, messages: list[str] | None = None):
        self.record, self.prefix = record, prefix
        self.messages: list[str] = [] if messages is None else messages

    def wrong(self, key: str, found: object, allowed: str) -> None:
        self.messages.append(f"{self.prefix}{key} is {kind(found)}: it must be {allowed}")

    def known(self, *names: str) -> None:
        for key in self.record:
            if key not in names:
                near = difflib.get_close_matches(key, names, n=1)
                meant = f"did you mean {near[0]!r}? " if near else ""
                self.messages.append(f"{self.prefix}{key} is unknown: {meant}Known: {', '.join(names)}")

    def text(self, key: str, required: bool = False) -> str | None:
        value = self.record.get(key)
        if value is None and not required:
            return None
        if key not in self.record:
            self.messages.append(f"{self.prefix}{key} is missing")
            return None
        if not isinstance(value, str):
            self.wrong(key, value, "a string")
            return None
        if required and not value.strip():
            self.messages.append(f"{self.prefix}{key} is empty")
        return value

    def items(self, key: str) -> list | None:
        value = self.record.get(key)
        if value is None or isinstance(value, list):
            return value
        self.wrong(key, value, "a list")
        return None

    def span(self, name: str, value: object) -> Span | None:
        if isinstance(value, list) and len(value) == 2 and all(type(end) is int for end in value):
            return value[0], value[1]
        self.wrong(name, value, "a span: two whole numbers [start, end]")
        return None

    def spans(self, key: str) -> tuple[Span, ...] | None:
        values = self.items(key)
        if values is None:
            return None
        return tuple(self.span(f"{key}[{place}]", value) for place, value in enumerate(values))


def _document(fields: _Fields) -> Document:
    fields.known("id", "text", "title", "domain", "language", "family", "chunks")
    if fields.record.get("chunks") == []:
        fields.messages.append("chunks is empty: leave it out, or give at least one")
    return Document(
        id=fields.text("id", required=True),
        text=fields.text("text", required=True),
        title=fields.text("title"),
        domain=fields.text("domain"),
        language=fields.text("language"),
        family=fields.text("family"),
        chunks=fields.spans("chunks"),
    )


def _query(fields: _Fields) -> Query:
    fields.known("id", "text", "domain", "ability", "targets")
    targets = fields.items("targets")
    if not targets and not (fields.messages and fields.record.get("targets")):
        fields.messages.append("targets is missing or empty: a query names at least one document")
    unread = (None,) if targets is None and fields.messages else ()
    built = tuple(_target(fields, place, value) for place, value in enumerate(targets or ())) or unread
    return Query(
        id=fields.text("id", required=True),
        text=fields.text("text", required=True),
        targets=built,
        domain=fields.text("domain"),
        ability=fields.text("ability"),
    )


def _target(query: _Fields, place: int, value: object) -> Target | None:
    if not isinstance(value, dict):
        query.wrong(f"targets[{place}]", value, "an object with `document`")
        return None
    fields = _Fields(value, f"targets[{place}].", query.messages)
    fields.known("document", "grade", "answers", "evidence", "quotes")
    grade = 1 if fields.record.get("grade") is None else fields.record["grade"]
    if type(grade) is not int or abs(grade) > _LARGEST_GRADE:
        fields.wrong("grade", grade, f"a whole number of at most {_LARGEST_GRADE}")
    quotes = fields.items("quotes")
    for number, quote in enumerate(quotes or ()):
        if not isinstance(quote, str):
            fields.wrong(f"quotes[{number}]", quote, "a string")
    groups = fields.items("evidence") or ()
    return Target(
        document=fields.text("document", required=True),
        grade=grade,
        answers=fields.spans("answers") or (),
        evidence=tuple(_group(fields, f"evidence[{number}]", group) for number, group in enumerate(groups)),
        quotes=None if quotes is None else tuple(quotes),
    )


def _group(fields: _Fields, name: str, value: object) -> Group:
    if not isinstance(value, list) or not value:
        fields.wrong(name, value, "a list of at least one alternative")
        return ()
    return tuple(_alternative(fields, f"{name}[{place}]", alternative) for place, alternative in enumerate(value))


def _alternative(fields: _Fields, name: str, value: object) -> Alternative:
    """A span `[s, e]`, or a list of spans that belong together."""
    if not isinstance(value, list) or not value:
        fields.wrong(name, value, "a span [start, end] or a list of spans")
        return ()
    if isinstance(value[0], list):
        return tuple(fields.span(f"{name}[{place}]", span) for place, span in enumerate(value))
    return (fields.span(name, value),)
