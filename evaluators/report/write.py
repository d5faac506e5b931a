"""The report of one or several evaluations in a folder: Markdown, the figures beside it, and one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from corpora.files import write_atomically
from evaluators.report.page import html, markdown
from evaluators.report.sections import sections_of
from evaluators.results import Results


def write_report(folder: Path, results: Sequence[Results]) -> None:
    """Writes `report.md`, `report.html` and the figures as PNG; equal results give equal bytes."""
    named = told_apart(results)
    title = f"Evaluation of {', '.join(each.encoder for each in named)}"
    sections = sections_of(named)
    for section in sections:
        for name, image in section.images.items():
            write_atomically(Path(folder) / f"{name}.png", image)
    write_atomically(Path(folder) / "report.md", markdown(title, sections))
    write_atomically(Path(folder) / "report.html", html(title, sections))


def told_apart(results: Sequence[Results]) -> list[Results]:
    """The same results; encoders of one name are numbered, for figures and tables have a column a name."""
    names = [each.encoder for each in results]
    return [replace(each, encoder=f"{each.encoder} ({names[:place + 1].count(each.encoder)})")
            if names.count(each.encoder) > 1 else each for place, each in enumerate(results)]
