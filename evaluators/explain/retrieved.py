"""What an evaluation retrieved: its TREC runs, and the text that a chunk's id stands for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from corpora.chunks import ChunkTable, chunk_table, trec_id
from corpora.documents import Corpus, Document, Span
from corpora.errors import InputError, Problem
from corpora.tokens import Tokenizer
from evaluators.results import Results, split_figure
from evaluators.suites import WHOLE
from evaluators.trec import ranked, read_run, run_path

Setting = tuple[str, int, str]
"""Chunking, dimension, precision."""


@dataclass(frozen=True)
class Hit:
    rank: int
    score: float
    identifier: str
    document: Document
    span: Span


class Runs:
    """The runs over chunks in one folder, each file read once."""

    def __init__(self, folder: Path):
        self.folder = Path(folder)
        self._read: dict[Path, dict[str, dict[str, float]]] = {}

    def top(self, task: str, setting: Setting, query: str, k: int) -> list[tuple[str, float]] | None:
        """The best k chunk ids and scores of a query; None where nothing was written for this setting."""
        path = run_path(self.folder, task, *setting, "chunks")
        if path not in self._read:
            if not path.is_file():
                return None
            self._read[path] = read_run(path)
        found = self._read[path].get(trec_id(query), {})
        return [(identifier, found[identifier]) for identifier in ranked(found)[:k]]


class Texts:
    """Documents of a corpus by encoded id, and their chunks, cut when they are asked for."""

    def __init__(self, corpus: Corpus, tokenizer: Tokenizer | None):
        self.corpus, self.tokenizer = corpus, tokenizer
        self._chunks: dict[tuple[str, str], dict[int, Span]] = {}

    @cached_property
    def documents(self) -> dict[str, Document]:
        return {trec_id(document.id): document for document in self.corpus.documents}

    def hit(self, rank: int, score: float, identifier: str, chunking: str, where: str) -> Hit:
        """`identifier` as it stands in a run; `where` names the run in the error of an id that the corpus has not."""
        name, _, number = identifier.rpartition("#")
        document = self.documents.get(name)
        span = self.spans(document, chunking).get(int(number)) if document is not None and number.isdigit() else None
        if span is None:
            raise InputError(Problem(where, f"{identifier!r} is no chunk of the corpus {self.corpus.name!r} under the "
                                     f"chunking {chunking}: give the corpus, and the tokenizer, that were evaluated"))
        return Hit(rank, score, identifier, document, span)

    def spans(self, document: Document, chunking: str) -> dict[int, Span]:
        """Number -> characters of the document's chunks."""
        key = document.id, chunking
        if key not in self._chunks:
            table = self._cut(document, chunking)
            self._chunks[key] = dict(zip(table.number.tolist(), map(tuple, table.span.tolist()), strict=True))
        return self._chunks[key]

    def _cut(self, document: Document, chunking: str) -> ChunkTable:
        alone = Corpus(self.corpus.name, (document,))
        if self.tokenizer is not None:
            return chunk_table(alone, chunking, self.tokenizer.encode([document.text]))
        if chunking.startswith("tokens:"):
            raise InputError(Problem("--tokenizer", f"the chunks {chunking} count tokens: name a folder with the "
                                     "tokenizer that cut them, such as the checkpoint's"))
        return chunk_table(alone, chunking)


def setting(results: Results, figure: str, task: str) -> Setting:
    """Under which chunking, dimension and precision the figure was measured on the task."""
    suite, metric, axes = split_figure(figure)
    dimension, precision = results.dimension, "float32"
    if suite == "chunk-size" and axes:
        return axes, dimension, precision
    if axes:
        cut, precision = axes.removeprefix("d=").split(",")
        dimension = int(cut)
    frame = results.per_query
    keep = (frame.suite == suite) & (frame.metric == metric) & (frame.task == task) & (frame.dimension == dimension)
    found = list(map(str, frame.chunking[keep & (frame.precision == precision)].unique()))
    chosen = WHOLE if metric.startswith("Document@") and WHOLE in found else found[0]
    return chosen, dimension, precision
