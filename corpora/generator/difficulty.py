"""The generator's proof of its own difficulty: who finds the answers, by ability, and what luck would find.

Isolated sentences are scored by BM25, and by any encoder that is passed in; twice, once over the
whole index and once among the answer candidates of the query's family, where every lexical clue
would show. The full-document reader reads texts and queries, never labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from corpora.chunks import chunk_table
from corpora.documents import Corpus, Query
from corpora.generator.chance import candidates
from corpora.generator.reading import Fact, best, read
from corpora.holm import holm
from corpora.spans import relevant

Encode = Callable[[Sequence[str]], NDArray]
"""Texts -> float [texts, dimension]: an encoder that sees one sentence at a time."""
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Baseline:
    """Shares of queries whose answer is among the K best sentences, and the Holm-corrected p of doing so by luck."""

    whole_index: float
    among_candidates: float
    p_value: float


@dataclass(frozen=True)
class Difficulty:
    """One ability at one K."""

    ability: str
    k: int
    queries: int
    fewest_candidates: int
    chance: float
    baselines: dict[str, Baseline]
    reader: float

    @property
    def defect(self) -> bool:
        """A reader of isolated sentences beats luck: the answer gives itself away."""
        return any(baseline.p_value < SIGNIFICANT for baseline in self.baselines.values())


def difficulty(corpus: Corpus, ks: Sequence[int] = (1, 10), encode: Encode | None = None) -> list[Difficulty]:
    """Per K and ability, in the order in which the queries bring them up."""
    index = _Index(corpus)
    ranks = {"BM25": index.ranks(_bm25(index.texts, [query.text for query in corpus.queries]))}
    if encode is not None:
        documents, queries = encode(index.texts), encode([query.text for query in corpus.queries])
        ranks["encoder"] = index.ranks(queries @ documents.T)
    found = reader_finds(corpus)
    abilities = list(dict.fromkeys(query.ability for query in corpus.queries))
    asked = {ability: [place for place, query in enumerate(corpus.queries) if query.ability == ability]
             for ability in abilities}
    rows = []
    for k in ks:
        luck = np.minimum(1, k / index.candidates)
        p_values = {name: holm([_luck(rank[1, asked[ability]] < k, luck[asked[ability]]) for ability in abilities])
                    for name, rank in ranks.items()}
        for place, ability in enumerate(abilities):
            at = asked[ability]
            baselines = {name: Baseline(*(rank[:, at] < k).mean(axis=1).tolist(), p_values[name][place])
                         for name, rank in ranks.items()}
            rows.append(Difficulty(ability, k, len(at), int(index.candidates[at].min()), float(luck[at].mean()),
                                   baselines, float(found[at].mean())))
    return rows


def table(rows: Sequence[Difficulty]) -> str:
    """The rows as a Markdown table; `among` is the share among the family's candidates, p against chance."""
    names = list(rows[0].baselines)
    head = ["ability", "K", "queries", "candidates", "chance",
            *(title for name in names for title in (name, f"{name} among", "p")), "reader"]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        scores = [cell for name in names for cell in (
            f"{row.baselines[name].whole_index:.2f}", f"{row.baselines[name].among_candidates:.2f}",
            f"{row.baselines[name].p_value:.2f}")]
        lines.append([row.ability, str(row.k), str(row.queries), str(row.fewest_candidates), f"{row.chance:.2f}",
                      *scores, f"{row.reader:.2f}"])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def reader_finds(corpus: Corpus) -> NDArray:
    """bool [queries]: the full-document reader names an answer sentence."""
    facts: dict[str, list[tuple[str, Fact]]] = {}
    for document in corpus.documents:
        for fact in read(document.text):
            facts.setdefault(fact.keys[0] if fact.keys else "", []).append((document.id, fact))
    found = [_named(query, facts) for query in corpus.queries]
    answers = [{(target.document, span) for target in query.targets for span in target.answers}
               for query in corpus.queries]
    return np.array([place in right for place, right in zip(found, answers)], bool)


def _named(query: Query, facts: dict[str, list[tuple[str, Fact]]]):
    within = [pair for key, pairs in facts.items() if key in query.text for pair in pairs]
    fact = best(query.text, (fact for _, fact in within))
    return next(((document, fact.span) for document, other in within if other is fact), None)


def _luck(hits: NDArray, luck: NDArray) -> float:
    """One-sided binomial: so many hits or more, each as likely as the mean chance."""
    return float(binomtest(int(hits.sum()), len(hits), min(1.0, float(luck.mean())), alternative="greater").pvalue)


def _bm25(texts: Sequence[str], queries: Sequence[str]) -> NDArray:
    """float32 [queries, sentences]"""
    import bm25s

    model = bm25s.BM25()
    model.index(bm25s.tokenize(list(texts), stopwords=None, show_progress=False), show_progress=False)
    tokens = bm25s.tokenize(list(queries), stopwords=None, return_ids=False, show_progress=False)
    return np.stack([model.get_scores(words) for words in tokens])


class _Index:
    """All sentence chunks of a corpus, and which of them answer and could answer each query."""

    def __init__(self, corpus: Corpus):
        self.corpus, self.chunks = corpus, chunk_table(corpus, "sentence")
        self.texts = [corpus.documents[document].text[start:end]
                      for document, (start, end) in zip(self.chunks.document.tolist(), self.chunks.span.tolist())]
        # Equal scores are broken by id, descending (DESIGN section 6); ids are random, so a tie is luck.
        identifiers = np.array([identifier.encode() for identifier in self.chunks.ids()])
        self.tie = np.empty(len(identifiers), np.int64)
        self.tie[np.argsort(identifiers)] = np.arange(len(identifiers))
        self._family = {document.id: document.family or document.id for document in corpus.documents}
        self._candidates = {family: np.unique(np.concatenate([self._chunk(*place) for place in places]))
                            for family, places in candidates(corpus).items()}
        self.candidates = np.array([len(self._among(query)) for query in corpus.queries])

    def _chunk(self, document: str, span) -> NDArray:
        rows = self.chunks.of(self.corpus.position[document])
        return rows.start + relevant(span, self.chunks.span[rows])

    def _among(self, query: Query) -> NDArray:
        return self._candidates[self._family[query.targets[0].document]]

    def ranks(self, scores: NDArray) -> NDArray:
        """int [2, queries]: the answer's best rank from 0, in the whole index and among the candidates."""
        result = np.empty((2, len(self.corpus.queries)), np.int64)
        for number, query in enumerate(self.corpus.queries):
            answers = np.concatenate([self._chunk(target.document, span)
                                      for target in query.targets for span in target.answers])
            for row, rivals in enumerate((np.arange(len(self.tie)), self._among(query))):
                order = rivals[np.lexsort((-self.tie[rivals], -scores[number, rivals]))]
                result[row, number] = np.flatnonzero(np.isin(order, answers))[0]
        return result
