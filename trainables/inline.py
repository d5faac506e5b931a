"""The cheap dev metric that a trial reads off itself at every checkpoint, to be stopped by.

A fixed sample of dev queries against the documents of their families only: easier than the
full suites, the same for all trials, and never what the winner is chosen by.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from corpora import native
from corpora.documents import Corpus
from corpora.families import families
from evaluators.encoder import Encoder
from evaluators.evaluate import Task, evaluate

METRICS = ("Answer@10", "Document@1")


def inline_sample(corpus: Corpus, queries: int, seed: int) -> Corpus:
    """Whole families of dev, in seeded order, until they hold so many queries with answers."""
    family_of = dict(zip((document.id for document in corpus.documents), families(corpus), strict=True))
    asked: dict[str, list] = {}
    for query in corpus.queries:
        sought = [target for target in query.targets if target.grade > 0 and target.answers]
        if sought:
            asked.setdefault(family_of[sought[0].document], []).append(query)
    names = sorted(asked)
    chosen: set[str] = set()
    for place in np.random.default_rng(seed).permutation(len(names)):
        if sum(len(asked[name]) for name in chosen) >= queries:
            break
        chosen.add(names[place])
    documents = tuple(document for document in corpus.documents if family_of[document.id] in chosen)
    kept = {document.id for document in documents}
    within = [query for name in sorted(chosen) for query in asked[name]]
    return Corpus("inline", documents, tuple(q for q in within if all(t.document in kept for t in q.targets)))


def inline_metrics(encoder: Encoder, folder: Path, chunking: str) -> dict[str, float]:
    """`inline/Answer@10` and `inline/Document@1` of the sample at `folder`, full dimension, float32."""
    task = Task("inline", _sample(Path(folder)))
    results = evaluate(encoder, [task], suites=("context",), precisions=("float32",), ks=(1, 10), chunking=chunking)
    figures = results.figures()
    return {f"inline/{metric}": figures[f"context/{metric}"] for metric in METRICS if f"context/{metric}" in figures}


@lru_cache(maxsize=2)
def _sample(folder: Path) -> Corpus:
    """Read once for all trials of a worker."""
    return native.read(folder)
