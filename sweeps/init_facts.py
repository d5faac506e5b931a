"""What `stockpot init` looks at in a corpus before it proposes a sweep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

from corpora.chunks import chunk_table
from corpora.documents import Corpus
from corpora.splits import query_families
from corpora.statistics import cut_share
from sweeps.estimates import CHARACTERS_PER_TOKEN

SAMPLED = 40  # documents whose sentences are cut to see whether answers fit into one


@dataclass(frozen=True)
class Facts:
    """
    answered: queries with an answer span; families: independent ones that queries ask for.
    given: documents that hold the publisher's chunks; cut: share of the answered queries of which no answer lies
    whole in one sentence; answer: median characters of an answer.
    """

    documents: int
    queries: int
    answered: int
    families: int
    languages: dict[str, int]
    given: int
    tokens: float  # a document, estimated from its characters
    queries_each: float  # a document that is asked for
    answer: float
    cut: float

    @property
    def all_given(self) -> bool:
        return self.given == self.documents


def facts(parts: Sequence[Corpus]) -> Facts:
    documents = [document for part in parts for document in part.documents]
    queries = [query for part in parts for query in part.queries]
    answers = [span for query in queries for target in query.targets for span in target.answers]
    asked = {(place, target.document) for place, part in enumerate(parts) for q in part.queries for target in q.targets}
    return Facts(
        documents=len(documents),
        queries=len(queries),
        answered=sum(any(target.answers for target in query.targets) for query in queries),
        families=sum(len(set(query_families(part))) for part in parts if part.queries),
        languages=dict(Counter(document.language for document in documents if document.language).most_common()),
        given=sum(document.chunks is not None for document in documents),
        tokens=fmean(len(document.text) for document in documents) / CHARACTERS_PER_TOKEN if documents else 0.0,
        queries_each=len(queries) / max(1, len(asked)),
        answer=median(end - start for start, end in answers) if answers else 0.0,
        cut=_cut_by_sentences(parts[0]) if parts else 0.0,
    )


def _cut_by_sentences(corpus: Corpus) -> float:
    order = np.random.default_rng(0).permutation(len(corpus.documents))[:SAMPLED]
    documents = tuple(corpus.documents[place] for place in sorted(order))
    held = {document.id for document in documents}
    queries = tuple(q for q in corpus.queries if q.targets and all(target.document in held for target in q.targets))
    sample = Corpus(corpus.name, documents, queries)
    return cut_share(sample, chunk_table(sample, "sentence").span_of)
