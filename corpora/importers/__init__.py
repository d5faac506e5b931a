"""Real files in: publishers' formats to the native one, with a report of all that was done to them."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

from corpora import checks, native
from corpora.errors import InputError, Problem
from corpora.files import build_folder, new_folder
from corpora.importers.report import ImportReport
from corpora.wording import nearest

FORMATS = {"squad": "squad", "beir": "beir", "conteb": "conteb", "span-csv": "span_csv", "text": "text_folder"}
"""Name on the command line -> module."""
REPORT = "import.json"


def import_corpus(format: str, source: str | Path, destination: str | Path, strict: bool = False) -> ImportReport:
    """Writes `source` as a native corpus into the new folder `destination`, with the report beside it.

    Repairs what is certain and drops what is not; with `strict` either is an error and nothing is written.
    """
    if format not in FORMATS:
        raise InputError(Problem("format", f"{format!r} is unknown{nearest(str(format), list(FORMATS))}"))
    if not Path(source).exists() and not (format == "conteb" and "/" in str(source)):  # a hub's name
        raise InputError(Problem(str(source), "there is no such file or folder"))
    destination = Path(destination)
    new_folder(destination)
    report = ImportReport(format, str(source))
    corpus = importlib.import_module(f"corpora.importers.{FORMATS[format]}").read(str(source), report)
    if not corpus.documents:
        raise InputError(Problem(str(source), "\n".join(["no document is left", *report.lines()[1:]])))
    if strict:
        report.refuse()
    problems = checks.problems(corpus)
    if problems:
        raise InputError(problems)

    def fill(beside: Path) -> None:
        native.write(corpus, beside)
        # A file name need not be UTF-8: what is not becomes its JSON escape.
        content = json.dumps(report.json(), ensure_ascii=False, indent=1)
        (beside / REPORT).write_text(content, encoding="utf-8", errors="backslashreplace")

    build_folder(destination, fill)
    return report
