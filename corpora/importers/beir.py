"""BEIR folders: corpus.jsonl, queries.jsonl, qrels/*.tsv with grades; judgments without spans (DESIGN section 4)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from corpora.documents import Corpus, Target
from corpora.errors import InputError, Problem
from corpora.importers.building import Building
from corpora.importers.report import ImportReport
from corpora.importers.tables import identifier, inside, rows_of, text_of

_COLUMNS = ("query-id", "corpus-id", "score")


def read(source: str, report: ImportReport) -> Corpus:
    """All qrels files together; a title is kept as data, and is not part of the text."""
    folder = Path(source)
    judgments = sorted((folder / "qrels").glob("*.tsv"))
    missing = [name for name in ("corpus.jsonl", "queries.jsonl") if not (folder / name).is_file()]
    if missing or not judgments:
        raise InputError(Problem(source, f"is no BEIR folder: it lacks {', '.join(missing or ['qrels/*.tsv'])}"))
    building = Building(folder.name, report)
    documents = {}
    for where, row in rows_of(inside(folder, folder / "corpus.jsonl")):
        name = identifier(row.get("_id"))
        if name in documents:
            report.dropped("document", "id used before: judgments cannot tell them apart", where, name)
            continue
        documents[name] = building.document(name, _text(row), where, title=row.get("title"))
    questions = {}
    for where, row in rows_of(inside(folder, folder / "queries.jsonl")):
        name = identifier(row.get("_id"))
        if name in questions:
            report.dropped("query", "id used before: judgments cannot tell them apart", where, name)
        else:
            questions[name] = (where, _text(row))
    grades: dict[str, dict[str, int]] = {name: {} for name in questions}
    judged = set()  # queries that any line names: a download has those of other splits too
    for file in judgments:
        for where, query, document, grade in _judgments(inside(folder, file), report):
            judged.add(query)
            if query not in grades or documents.get(document) is None:
                unknown = f"query {query!r}" if query not in grades else f"document {document!r}"
                report.dropped("judgment", "of an unknown or dropped record", where, unknown)
            elif grades[query].get(document, grade) != grade:
                report.dropped("judgment", "contradicts an earlier one", where, f"{query} {document} {grade}")
            else:
                grades[query][document] = grade
    for name, (where, text) in questions.items():
        if name not in judged:
            report.dropped("query", "no readable judgment names it", where, text)
            continue
        targets = [Target(documents[document], grade) for document, grade in grades[name].items()]
        building.query(name, text, targets, where)
    return building.corpus()


def _judgments(file: Path, report: ImportReport) -> Iterator[tuple[str, str, str, int]]:
    """(where, query id, document id, grade) of each line."""
    first = text_of(file).partition("\n")[0].strip()
    if not set(_COLUMNS) <= set(first.split("\t")):
        told = f"needs the columns {', '.join(_COLUMNS)} in a first line, separated by tabs; the first line holds {', '.join(first.split()) or 'nothing'}"
        raise InputError(Problem(f"qrels/{file.name}:1", told))
    for where, row in rows_of(file):
        if not set(_COLUMNS) <= set(row):
            raise InputError(Problem(f"qrels/{where}", f"ends before the columns {', '.join(name for name in _COLUMNS if name not in row)}"))
        query, document, score = (row[name] for name in _COLUMNS)
        try:
            grade = float(score)
        except ValueError:
            grade = float("nan")
        if grade != grade or grade != int(max(min(grade, 1e6), -1e6)):
            report.dropped("judgment", "the grade is no whole number", f"qrels/{where}", score)
        else:
            yield f"qrels/{where}", query, document, int(grade)


def _text(row: dict) -> str:
    text = row.get("text")
    return text if isinstance(text, str) else ""
