"""SQuAD-style files: an article is a document, its paragraphs the given chunks (DESIGN section 4)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from corpora.documents import Corpus, Target
from corpora.errors import InputError, Problem
from corpora.importers.building import Building, joined
from corpora.importers.report import ImportReport
from corpora.importers.tables import identifier, json_file, rows_of, table_files

Article = tuple[str, dict]
"""Where the article stands, and `{"title", "paragraphs": [{"context", "qas": [...]}]}`."""


def read(source: str, report: ImportReport) -> Corpus:
    """One file, or a folder of files, whose ids are then prefixed with the file's name."""
    path = Path(source)
    files = table_files(path) if path.is_dir() else [path]
    if not files:
        raise InputError(Problem(source, "holds no SQuAD-style file: .json, .jsonl, .parquet"))
    building = Building(path.stem, report)
    for file in files:
        prefix = f"{file.stem}/" if len(files) > 1 else ""
        for number, (where, article) in enumerate(_articles(file)):
            _article(building, where, article, number, prefix)
    return building.corpus()


def _articles(file: Path) -> Iterator[Article]:
    content = json_file(file) if file.suffix.lower() == ".json" else None
    if isinstance(content, dict) and "data" in content:
        if not isinstance(content["data"], list):
            raise InputError(Problem(f"{file.name}: data", "must be a list of articles"))
        yield from ((f"{file.name}: data[{number}]", article) for number, article in enumerate(content["data"]))
    else:
        yield from _flat_articles(file)


def _flat_articles(file: Path) -> Iterator[Article]:
    """Rows of (id, title, context, question, answers{text, answer_start}), as hubs publish SQuAD, by title."""
    articles: dict[object, dict] = {}
    first: dict[object, str] = {}
    rows = [(where, row, _flat_answers(row.get("answers"))) for where, row in rows_of(file)]
    answered = any(answers for _, _, answers in rows)
    for where, row, answers in rows:
        if not isinstance(row.get("context"), str):
            raise InputError(
                Problem(where, "has no text `context`: SQuAD is {data: [...]} or rows with context, question, answers")
            )
        title = row.get("title")
        key = title if isinstance(title, str) and title else row["context"]
        first.setdefault(key, where)
        paragraphs = articles.setdefault(key, {"title": title, "paragraphs": {}})["paragraphs"]
        # SQuAD 2 in rows has no flag: among rows that have answers, one without is a question without.
        impossible = row.get("is_impossible", answered and not answers and "answers" in row)
        question = {name: row.get(name) for name in ("id", "question")}
        paragraphs.setdefault(row["context"], []).append(question | {"where": where, "answers": answers, "is_impossible": impossible})
    for key, article in articles.items():
        yield (
            first[key],
            {
                "title": article["title"],
                "paragraphs": [
                    {"context": context, "qas": questions} for context, questions in article["paragraphs"].items()
                ],
            },
        )


def _flat_answers(answers: object) -> list:
    """Answers one by one; what has another shape goes on as it is, to be reported as dropped."""
    if answers is None or isinstance(answers, list):
        return answers or []
    columns = [answers.get(name) for name in ("text", "answer_start")] if isinstance(answers, dict) else []
    if not columns or not all(isinstance(column, list) for column in columns):
        return [answers]
    return [{"text": text, "answer_start": start} for text, start in itertools.zip_longest(*columns)]


def _article(building: Building, where: str, article: object, number: int, prefix: str) -> None:
    paragraphs = [
        (f"{where}.paragraphs[{place}]", paragraph)
        for place, paragraph in enumerate(_list(where, article, "paragraphs"))
    ]
    kept = []
    for place, paragraph in paragraphs:
        context = paragraph.get("context") if isinstance(paragraph, dict) else None
        if isinstance(context, str) and context.strip():
            kept.append((place, paragraph))
        else:
            building.report.dropped("paragraph", "no text", place, str(context))
    text, chunks = joined([paragraph["context"] for _, paragraph in kept])
    named = _name(article, number)
    document = building.document(prefix + named, text, where, title=article.get("title"), chunks=chunks)
    if document is None:
        return
    for (place, paragraph), (start, _) in zip(kept, chunks, strict=True):
        for position, question in enumerate(_list(place, paragraph, "qas", required=False)):
            at = question.pop("where", f"{place}.qas[{position}]") if isinstance(question, dict) else place
            _question(
                building,
                at,
                question,
                paragraph["context"],
                start,
                document,
                _question_name(question, prefix),
            )


def _question_name(question: object, prefix: str) -> str:
    name = identifier(question.get("id") if isinstance(question, dict) else None)
    return prefix + name if name else ""


def _question(
    building: Building, where: str, question: object, context: str, start: int, document: str, name: str
) -> None:
    text = question.get("question") if isinstance(question, dict) else None
    if not isinstance(text, str):
        building.report.dropped("query", "no text `question`", where, str(question))
        return
    if question.get("is_impossible"):
        building.report.dropped("query", "unanswerable: its document does not answer it", where, text)
        return
    answers = []
    for position, answer in enumerate(_list(where, question, "answers", required=False)):
        at = f"{where}.answers[{position}]"
        if (
            not isinstance(answer, dict)
            or not isinstance(answer.get("text"), str)
            or type(answer.get("answer_start")) is not int
        ):
            building.report.dropped("answer", "no `text` with a whole number `answer_start`", at, str(answer))
            continue
        found = building.span("answer", context, answer["text"], answer["answer_start"], at)
        if found:
            answers.append((start + found[0], start + found[1]))
    building.query(name, text, [Target(document, answers=tuple(answers))], where)


def _name(article: dict, number: int) -> str:
    """The publisher's id of the article, else its title, else its number."""
    paragraphs = article["paragraphs"]
    own = article.get("id")
    if own is None and len(paragraphs) == 1 and isinstance(paragraphs[0], dict):
        own = paragraphs[0].get("document_id")
    return identifier(own) or identifier(article.get("title")) or f"article-{number:05d}"


def _list(where: str, record: object, key: str, required: bool = True) -> list:
    value = record.get(key) if isinstance(record, dict) else None
    if value is None and not required:
        return []
    if not isinstance(value, list):
        raise InputError(Problem(f"{where}.{key}", "must be a list: this is no SQuAD-style file"))
    return value
