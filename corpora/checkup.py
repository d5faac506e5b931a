"""`corpus check`: everything that refuses a corpus or deserves a look, all at once, with lines, and its figures."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from corpora import checks, native
from corpora.cutting import THRESHOLD
from corpora.documents import Corpus
from corpora.errors import InputError, Problem
from corpora.splits import leaks
from corpora.statistics import Statistics, statistics
from corpora.tokens import Tokenizer


@dataclass
class CheckReport:
    """`parts`: the figures by corpus folder; a folder of splits has several."""

    folder: str
    threshold: float
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    parts: dict[str, Statistics] = field(default_factory=dict)

    @property
    def refused(self) -> bool:
        return bool(self.problems)

    def lines(self) -> list[str]:
        found = [f"refused: {problem}" for problem in self.problems]
        found += [f"warning: {problem}" for problem in self.warnings]
        for name, part in self.parts.items():
            found += [f"{name}:", *(f"  {line}" for line in part.lines())]
        if len(self.parts) > 1 and not self.refused:
            found.append(f"no document, query or near-duplicate (similarity {self.threshold}) stands in two splits")
        return found

    def json(self) -> dict:
        return {
            "folder": self.folder,
            "threshold": self.threshold,
            "problems": [{"where": problem.where, "message": problem.message} for problem in self.problems],
            "warnings": [{"where": problem.where, "message": problem.message} for problem in self.warnings],
            "statistics": {name: part.json() for name, part in self.parts.items()},
        }


def check(folder: Path, tokenizer: Tokenizer | None = None, threshold: float = THRESHOLD) -> CheckReport:
    """Checks a native corpus, or a folder whose subfolders are the splits of one: then leaks are problems too."""
    folder = Path(folder)
    report = CheckReport(str(folder), threshold)
    splits = (
        []
        if os.path.lexists(folder / native.DOCUMENTS)
        else sorted(path.parent for path in folder.glob(f"*/{native.DOCUMENTS}"))
    )
    corpora: dict[str, Corpus] = {}
    for place in splits or [folder]:
        prefix = f"{place.name}/" if splits else ""
        try:
            corpus, lines = native.read_with_lines(place)
        except InputError as error:
            report.problems += _under(prefix, error.problems)
            continue
        corpora[place.name] = corpus
        report.parts[place.name] = part = statistics(corpus, tokenizer, threshold=threshold)
        report.warnings += _under(prefix, checks.warnings(corpus, part.family_names, lines))
    if len(corpora) > 1:
        report.problems += leaks(corpora, threshold)
    return report


def _under(prefix: str, problems: list[Problem]) -> list[Problem]:
    return [Problem(prefix + problem.where, problem.message) for problem in problems]
