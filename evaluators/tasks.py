"""A task: a corpus to search, with what is worked out once for all encoders and checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import pandas as pd

from corpora.chunks import ChunkTable, chunk_table
from corpora.documents import Corpus
from corpora.errors import InputError, Problem
from corpora.splits import document_clusters
from corpora.tokens import Tokenizer
from evaluators.judgments import Judgments
from evaluators.ranking import Index
from evaluators.views import Cuts, Gold

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Task:
    """`families`: one name per document, the clusters of the bootstrap; else the document's own, else its id.

    `tables`: where a prepared corpus holds chunk tables already, chunking -> table.
    `split`: hash of the split that the corpus is, where it was cut.
    """

    name: str
    corpus: Corpus
    domain: str | None = None
    families: Sequence[str] | None = None
    tables: Callable[[str], ChunkTable] | None = None
    split: str | None = None
    _cache: dict = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, corpus: Corpus, name: str | None = None, domain: str | None = None) -> Task:
        """The bootstrap's clusters are families, near-duplicates where none are given, and those that queries join."""
        return cls(name or corpus.name, corpus, domain, document_clusters(corpus))

    def once(self, key: tuple, make: Callable[[], T]) -> T:
        """What `make` gives, worked out once for this task."""
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    def index(self, chunking: str, tokenizer: Tokenizer | None) -> Index:
        key = ("index", chunking, tokenizer and tokenizer.sha256)
        return self.once(key, lambda: Index(self._table(chunking, tokenizer)))

    def gold(self, chunking: str, tokenizer: Tokenizer | None, cuts: Cuts) -> Gold:
        key = ("gold", chunking, tokenizer and tokenizer.sha256, cuts)
        return self.once(key, lambda: Gold(Judgments(self.corpus, self.index(chunking, tokenizer).table), cuts))

    def _table(self, chunking: str, tokenizer: Tokenizer | None) -> ChunkTable:
        if self.tables is not None:
            return self.tables(chunking)
        if tokenizer is None:
            if chunking.startswith("tokens:"):
                raise InputError(Problem(f"chunking {chunking}", "counts tokens, and this encoder has no tokenizer: "
                                         "pass one, or leave the chunk-size suite out"))
            return chunk_table(self.corpus, chunking)
        texts = [document.text for document in self.corpus.documents]
        return chunk_table(self.corpus, chunking, self.once(("encodings", tokenizer.sha256), lambda: tokenizer.encode(texts)))

    def queries(self) -> pd.DataFrame:
        """One row per query: task, query, ability, domain, family of its first target document."""
        rows = []
        for query in self.corpus.queries:
            first = next((target for target in query.targets if target.grade > 0), query.targets[0])
            rows.append((self.name, query.id, query.ability, query.domain or self.domain, self._family(first.document)))
        return pd.DataFrame(rows, columns=["task", "query", "ability", "domain", "family"], dtype=object)

    def _family(self, document: str) -> str:
        place = self.corpus.position[document]
        if self.families is not None:
            return self.families[place]
        return self.corpus.documents[place].family or document
