"""The queries that flipped between two evaluations: what was asked for, what both retrieved, what the teacher said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from corpora.documents import Corpus, Document, Query, Span, Target
from corpora.scores import TeacherScores
from corpora.spans import relevant_chunks, trim
from corpora.tokens import Tokenizer
from evaluators.compare import flips
from evaluators.explain.marks import excerpt, marked, passages, shades
from evaluators.explain.retrieved import Hit, Runs, Texts, setting
from evaluators.results import Results

if TYPE_CHECKING:
    from markupsafe import Markup

ANSWER, EVIDENCE = "answer", "evidence"


@dataclass(frozen=True)
class Compared:
    """One evaluation under the letter that the page gives it; where it came from, and its runs if there are any."""

    letter: str
    place: str
    encoder: str
    results: Results
    runs: Runs | None

    @classmethod
    def of(cls, letter: str, place: str, results: Results, runs: Path | None) -> Compared:
        return cls(letter, place, results.encoder, replace(results, encoder=letter), Runs(runs) if runs else None)


@dataclass(frozen=True)
class Shown:
    """A retrieved chunk. `badges`: what it is to the query."""

    rank: int
    score: float
    identifier: str
    badges: tuple[str, ...]
    text: Markup


@dataclass(frozen=True)
class Asked:
    """A target document of the query; `heat` its text in the teacher's shades, between the scores `low` and `high`."""

    document: str
    title: str | None
    passages: Markup
    heat: Markup | None
    low: float
    high: float


@dataclass(frozen=True)
class Flip:
    """`retrieved`: letter -> chunks of that side, None where it left no run for the figure."""

    task: str
    query: str
    text: str | None
    value_a: float
    value_b: float
    asked: tuple[Asked, ...]
    retrieved: dict[str, tuple[Shown, ...] | None]


class Explainer:
    """Explains flips as far as there are corpora, runs and teachers' scores. `corpora`: by SHA-256."""

    def __init__(
        self, corpora: Sequence[Corpus], tokenizer: Tokenizer | None, teachers: Sequence[TeacherScores], top: int,
    ):
        self.texts: Mapping[str, Texts] = {corpus.sha256: Texts(corpus, tokenizer) for corpus in corpora}
        self.queries = {sha256: {query.id: query for query in texts.corpus.queries}
                        for sha256, texts in self.texts.items()}
        self.teachers, self.top = teachers, top

    def explain(self, a: Compared, b: Compared, figure: str, most: int) -> tuple[list[Flip], int]:
        """The first `most` flips, largest change first, and how many there are."""
        found = flips(a.results, b.results, figure)
        sha256 = a.results.tasks.set_index("task").corpus_sha256
        return [self._flip(a, b, figure, row, sha256[row.task]) for row in found.head(most).itertuples()], len(found)

    def _flip(self, a: Compared, b: Compared, figure: str, row, sha256: str) -> Flip:
        if sha256 not in self.texts:
            return Flip(row.task, row.query, None, row.value_a, row.value_b, (), {a.letter: None, b.letter: None})
        texts, query = self.texts[sha256], self.queries[sha256][row.query]
        return Flip(row.task, query.id, query.text, row.value_a, row.value_b, self._asked(texts, query),
                    {side.letter: self._retrieved(side, figure, row.task, texts, query) for side in (a, b)})

    def _asked(self, texts: Texts, query: Query) -> tuple[Asked, ...]:
        found = []
        for target in query.targets:
            if target.grade > 0:
                document = texts.corpus.documents[texts.corpus.position[target.document]]
                layers = _layers(document.text, [target])
                spans = [*layers[ANSWER], *layers[EVIDENCE]]
                found.append(Asked(document.id, document.title, passages(document.text, spans, layers),
                                   *self._heat(query, document, layers)))
        return tuple(found)

    def _heat(
        self, query: Query, document: Document, layers: dict[str, list[Span]],
    ) -> tuple[Markup | None, float, float]:
        for teacher in self.teachers:
            rows = teacher.rows(query.id, document.id)
            if rows is not None:
                heat, low, high = shades(*rows)
                return marked(document.text, (0, len(document.text)), heat | layers), low, high
        return None, 0.0, 0.0

    def _retrieved(
        self, side: Compared, figure: str, task: str, texts: Texts, query: Query,
    ) -> tuple[Shown, ...] | None:
        under = setting(side.results, figure, task)
        listed = side.runs and side.runs.top(task, under, query.id, self.top)
        if listed is None:
            return None
        hits = [texts.hit(rank, score, identifier, under[0], f"{side.place}: runs")
                for rank, (identifier, score) in enumerate(listed, 1)]
        return tuple(_shown(hit, texts, query, under[0]) for hit in hits)


def _shown(hit: Hit, texts: Texts, query: Query, chunking: str) -> Shown:
    """Targets of a document with the same text count: copies are one document as gold (DESIGN section 6)."""
    targets = [target for target in query.targets if target.grade > 0
               and texts.corpus.documents[texts.corpus.position[target.document]].text == hit.document.text]
    layers = _layers(hit.document.text, targets)
    badges = []
    if targets:
        badges.append("target document")
    if hit.span in _relevant(texts, hit.document, layers[ANSWER], chunking):
        badges.append(ANSWER)
    if any(low < hit.span[1] and high > hit.span[0] for low, high in layers[EVIDENCE]):
        badges.append(EVIDENCE)
    return Shown(hit.rank, hit.score, hit.identifier, tuple(badges), excerpt(hit.document.text, hit.span, layers))


def _relevant(texts: Texts, document: Document, answers: list[Span], chunking: str) -> list[Span]:
    spans = list(texts.spans(document, chunking).values())
    return [spans[place] for place in relevant_chunks(answers, np.array(spans).reshape(-1, 2))]


def _layers(text: str, targets: Sequence[Target]) -> dict[str, list[Span]]:
    return {ANSWER: [trim(text, span) for target in targets for span in target.answers],
            EVIDENCE: [trim(text, span) for target in targets for group in target.evidence
                       for alternative in group for span in alternative]}
