"""Span CSVs: question, references [{content, start_index, end_index}], corpus_id (DESIGN section 4)."""

from __future__ import annotations

from pathlib import Path

from corpora.documents import Corpus, Target
from corpora.errors import InputError, Problem
from corpora.importers.building import Building
from corpora.importers.report import ImportReport
from corpora.importers.tables import inside, rows_of, text_of
from corpora.jsonl import parse

_COLUMNS = ("question", "references", "corpus_id")
_FOLDERS = ("corpora", "")
_SUFFIXES = (".md", ".txt", "")


def read(source: str, report: ImportReport) -> Corpus:
    """Each reference is an answer and an evidence group. The texts lie beside the file, in `corpora/` or not."""
    file = Path(source)
    if not file.is_file():
        raise InputError(Problem(source, "no such file: the format is one CSV with its texts in corpora/ beside it"))
    building = Building(file.stem, report)
    texts: dict[str, str] = {}
    documents: dict[str, str | None] = {}
    for number, (where, row) in enumerate(rows_of(file)):
        missing = [column for column in _COLUMNS if column not in row]
        if missing:
            raise InputError(Problem(where, f"lacks {', '.join(missing)}; has {', '.join(row)}"))
        name = row["corpus_id"]
        if name not in texts:
            texts[name] = _text(file, name, where)
            documents[name] = building.document(name, texts[name], where)
        spans = _references(building, texts[name], row["references"], where)
        target = Target(name, answers=tuple(spans), evidence=tuple(((span,),) for span in spans))
        building.query(f"{name}/{number:05d}", row["question"], [target] if documents[name] else [], where)
    return building.corpus()


def _text(file: Path, name: str, where: str) -> str:
    """The text called `name`, which can be no path out of the folder."""
    if name in ("", ".", "..") or "/" in name or "\\" in name or "\0" in name:
        raise InputError(Problem(where, f"corpus_id {name!r} is no plain file name"))
    for folder in _FOLDERS:
        for suffix in _SUFFIXES:
            path = file.parent / folder / f"{name}{suffix}"
            if path.is_file():
                return text_of(inside(file.parent, path))
    raise InputError(Problem(where, f"no text {name}.md or {name}.txt in {file.parent / 'corpora'} or beside the file"))


def _references(building: Building, text: str, content: str, where: str) -> list[tuple[int, int]]:
    try:
        references = parse(content.encode())
    except ValueError as error:
        raise InputError(Problem(where, f"references: {error}")) from None
    spans = []
    for place, reference in enumerate(references if isinstance(references, list) else [references]):
        at = f"{where}: references[{place}]"
        known = isinstance(reference, dict) and isinstance(reference.get("content"), str)
        if not known or type(reference.get("start_index")) is not int:
            building.report.dropped("answer", "no `content` with a whole number `start_index`", at, str(reference))
            continue
        span = building.span("answer", text, reference["content"], reference["start_index"], at)
        if span:
            spans.append(span)
    return spans
