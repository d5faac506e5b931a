"""Which figures the evaluation of a sweep will give: those that an objective or a constraint may name.

Found by evaluating, not by a list of names: the same suites and axes on a few queries of dev, whose documents get vectors that
know nothing. A figure that no query of dev can give (evidence where none is labelled) is not there either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers

from corpora.chunks import ChunkTable
from corpora.documents import Corpus, Query
from corpora.errors import Problem
from corpora.tokens import Tokenizer
from corpora.wording import nearest
from evaluators.encoder import Encoded
from evaluators.evaluate import evaluate
from evaluators.tasks import Task
from sweeps.config import SweepConfig, figures_asked

UNSAID = "needle"
"""Its figures are named by lengths and needles that follow from the student's tokenizer: not checked here."""


@dataclass(frozen=True)
class Nothing:
    """Equal vectors for everything."""

    dimension: int
    name: str = "nothing"
    quantiser: str = "none"
    contextual: bool = True
    tokenizer: Tokenizer | None = None

    def queries(self, texts: Sequence[str]) -> np.ndarray:
        return np.ones((len(texts), self.dimension), np.float32)

    def documents(self, corpus: Corpus, table: ChunkTable) -> Encoded:
        return Encoded(np.ones((len(table), self.dimension), np.float32), 0, 0, len(table), len(table))


def figure_problems(config: SweepConfig, dev: Sequence[Corpus]) -> Iterator[Problem]:
    """Objectives and constraints that no evaluation on dev will ever give."""
    checked = {key: metric for key, metric in figures_asked(config).items() if not metric.startswith(f"{UNSAID}/")}
    names = figure_names(config, dev) if checked and dev else []
    for key, metric in checked.items() if names else ():
        if metric not in names:
            suite = metric.partition("/")[0]
            of_suite = [name for name in names if name.startswith(f"{suite}/") and "[" not in name]
            yield Problem(key, f"no evaluation on dev gives {metric!r} (evaluation.k is {list(config.evaluation.k)})"
                               f"{nearest(metric, of_suite)}")


def figure_names(config: SweepConfig, dev: Sequence[Corpus]) -> list[str]:
    axes = config.evaluation
    tasks = [Task(f"{place}", _few(corpus)) for place, corpus in enumerate(dev) if corpus.queries]
    suites = [suite for suite in axes.suites if suite != UNSAID]
    full = tuple(dict.fromkeys((config.student.dimension, *axes.dimensions)))
    if not tasks or not suites:
        return []
    return list(evaluate(
        Nothing(config.student.dimension), tasks, suites, dimensions=full, precisions=axes.precisions, ks=axes.k,
        chunking=axes.chunking, chunk_sizes=axes.chunk_sizes, tokenizer=_words(),
    ).figures())  # fmt: skip


def _few(corpus: Corpus) -> Corpus:
    """One query of each kind that metrics tell apart, and their documents."""
    kinds: dict[tuple[bool, bool], Query] = {}
    for query in corpus.queries:
        kinds.setdefault((any(target.answers for target in query.targets), any(target.evidence for target in query.targets)), query)
    named = {target.document for query in kinds.values() for target in query.targets}
    documents = tuple(document for document in corpus.documents if document.id in named)
    return replace(corpus, documents=documents, queries=tuple(kinds.values()))


def _words() -> Tokenizer:
    """What cuts `tokens:N` here: words are enough for names."""
    backend = Backend(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    return Tokenizer(backend.to_str().encode())
