"""Folders of plain text: each file a document, named by its path; no queries (DESIGN section 4)."""

from __future__ import annotations

import os
from pathlib import Path

from corpora import native
from corpora.documents import Corpus
from corpora.errors import InputError, Problem
from corpora.importers.building import Building
from corpora.importers.report import ImportReport
from corpora.importers.tables import leads_out
from corpora.jsonl import BOM, unreadable


def read(source: str, report: ImportReport) -> Corpus:
    """Every file in the folder and below, hidden ones left out; links out of the folder are dropped."""
    folder = Path(source)
    if not folder.is_dir():
        raise InputError(Problem(source, "no such folder"))
    if (folder / native.DOCUMENTS).is_file() and (folder / native.QUERIES).is_file():
        raise InputError(Problem(source, "is a corpus in the native format already: commands take it as it is"))
    building = Building(folder.resolve().name, report)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if any(part.startswith(".") for part in path.relative_to(folder).parts):
            continue
        if leads_out(folder, path):
            report.dropped("document", "a link out of the folder", name, os.path.realpath(path))
            continue
        if path.is_dir():
            if path.is_symlink():
                report.dropped("document", "a link to a folder that is read already", name, os.path.realpath(path))
            continue
        if not path.is_file():
            report.dropped("document", "is no file, or a link to none", name, str(path))
            continue
        content = path.read_bytes()
        message = unreadable(content[:8])
        if message or b"\0" in content:
            report.dropped("document", message or "is no text: holds zero bytes", name, f"bytes {content[:8].hex(' ')}")
            continue
        try:
            text = content.removeprefix(BOM).decode("utf-8")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            report.dropped("document", "invalid UTF-8", f"{name}:{line}", f"bytes {content[error.start : error.start + 8].hex(' ')}")
            continue
        building.document(name, text, name)
    return building.corpus()
