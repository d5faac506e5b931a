"""What an import did: kept, repaired, dropped, each with its place, its reason and an example."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field

from corpora.errors import InputError, Problem

REPAIRED, DROPPED = "repaired", "dropped"
_SHOWN = 60


@dataclass(frozen=True)
class Entry:
    """One thing that is not as published. `where`: file and line, or the place in a JSON file."""

    action: str
    what: str
    reason: str
    where: str
    example: str


@dataclass
class ImportReport:
    format: str
    source: str
    documents: int = 0
    queries: int = 0
    answers: int = 0
    queries_without_answers: int = 0
    entries: list[Entry] = field(default_factory=list)

    def repaired(self, what: str, reason: str, where: str, found: str, kept: str) -> None:
        self.entries.append(Entry(REPAIRED, what, reason, where, f"{shown(found)} -> {shown(kept)}"))

    def dropped(self, what: str, reason: str, where: str, found: str) -> None:
        self.entries.append(Entry(DROPPED, what, reason, where, shown(found)))

    def counts(self, action: str) -> dict[str, int]:
        """`what: reason` -> how often, in the order of first appearance."""
        return dict(Counter(f"{entry.what}: {entry.reason}" for entry in self.entries if entry.action == action))

    def refuse(self) -> None:
        """What `--strict` does: every repair and every drop is an error."""
        if self.entries:
            raise InputError(
                Problem(entry.where, f"{entry.what}: {entry.reason}: {entry.example}") for entry in self.entries
            )

    def json(self) -> dict:
        return {
            "format": self.format,
            "source": self.source,
            "kept": {
                "documents": self.documents,
                "queries": self.queries,
                "answers": self.answers,
                "queries without answers": self.queries_without_answers,
            },
            REPAIRED: self.counts(REPAIRED),
            DROPPED: self.counts(DROPPED),
            "entries": [asdict(entry) for entry in self.entries],
        }

    def lines(self) -> list[str]:
        found = [f"kept {self.documents:,} documents, {self.queries:,} queries, {self.answers:,} answers"]
        if self.queries_without_answers:
            found.append(f"     {self.queries_without_answers:,} queries have no answer: for document retrieval only")
        for action in (REPAIRED, DROPPED):
            for reason, count in self.counts(action).items():
                first = next(
                    entry
                    for entry in self.entries
                    if entry.action == action and f"{entry.what}: {entry.reason}" == reason
                )
                found.append(f"{action} {count:,} {reason}")
                found.append(f"     as at {first.where}: {first.example}")
        return found


def shown(text: str) -> str:
    """The text in quotes, on one line and short enough for it."""
    return json.dumps(text if len(text) <= _SHOWN else text[:_SHOWN] + "...", ensure_ascii=False)
