"""Cosines of dev's queries to its chunks, kept while a checkpoint is evaluated; a soup's proxy is their mean.

Kept under one chunking, `sentence` unless said, as float32 [queries, chunks], for at most
LARGEST numbers of a task: of a larger one for its first queries in an order drawn from their
ids, the same for every checkpoint.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from corpora.chunks import ChunkTable
from corpora.documents import Corpus
from corpora.errors import StockpotError
from corpora.files import write_atomically
from corpora.tokens import Tokenizer
from evaluators.encoder import Encoded, Encoder
from evaluators.scores import CosineScores, MatrixScores
from evaluators.suites import SUITES
from evaluators.tasks import Task
from evaluators.views import Cuts, View

LARGEST = 1 << 24  # cosines of one task: 64 MiB
PROXIED = ("q2c", "q2d", "context")
"""Suites that read one chunking only, so that one matrix a task serves them."""


class Recording:
    """An Encoder that remembers the vectors it gave under one chunking."""

    def __init__(self, encoder: Encoder, chunking: str = "sentence"):
        self._encoder, self._chunking = encoder, chunking
        self._vectors: dict[str, np.ndarray] = {}  # corpus hash -> chunk vectors
        self._queries: dict[tuple[str, ...], np.ndarray] = {}  # texts -> query vectors

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)

    def queries(self, texts: Sequence[str]) -> np.ndarray:
        asked = tuple(texts)
        if asked not in self._queries:
            self._queries[asked] = self._encoder.queries(texts)
        return self._queries[asked]

    def documents(self, corpus: Corpus, table: ChunkTable) -> Encoded:
        encoded = self._encoder.documents(corpus, table)
        if table.chunking == self._chunking:
            self._vectors[corpus.sha256] = encoded.vectors
        return encoded

    def save(self, corpora: Sequence[Corpus], path: Path) -> None:
        """Writes the matrices of the corpora, in their order, as .npz."""
        matrices = {}
        for place, corpus in enumerate(corpora):
            chunks = self._vectors[corpus.sha256]
            rows = kept_queries(corpus, len(chunks))
            queries = self.queries([query.text for query in corpus.queries])[rows]
            matrices[str(place)] = CosineScores(queries, chunks).block(0, len(chunks))
        buffer = io.BytesIO()
        np.savez(buffer, **matrices)
        write_atomically(path, buffer.getvalue())


def kept_queries(corpus: Corpus, chunks: int) -> np.ndarray:
    """Ascending positions of the queries whose cosines are kept."""
    room = max(1, LARGEST // max(1, chunks))
    order = sorted(range(len(corpus.queries)), key=lambda row: hashlib.sha256(corpus.queries[row].id.encode()).digest())
    return np.sort(np.array(order[:room], np.int64))


class Proxy:
    """Figures of the mean similarities of some checkpoints."""

    def __init__(
        self,
        files: Sequence[Path],
        tasks: Sequence[Task],
        ks: Sequence[int],
        tokenizer: Tokenizer | None,
        chunking: str = "sentence",
    ):
        """`files`: of the checkpoints, in the order that `figures` counts; `tokenizer`: the one that cut the chunks."""
        self._matrices = [_read(path, len(tasks)) for path in files]
        self._gold = []
        for task, matrix in zip(tasks, self._matrices[0], strict=True):
            kept = kept_queries(task.corpus, matrix.shape[1])
            corpus = replace(task.corpus, queries=tuple(task.corpus.queries[row] for row in kept))
            sample, cuts = Task(task.name, corpus), Cuts(tuple(sorted(set(ks))))
            self._gold.append((sample.index(chunking, tokenizer), sample.gold(chunking, tokenizer, cuts), cuts))

    def figures(self, positions: Sequence[int]) -> Mapping[str, float]:
        """By the ledger's names, means over tasks."""
        found: dict[str, list[float]] = {}
        for task, (index, gold, cuts) in enumerate(self._gold):
            total = np.zeros(self._matrices[positions[0]][task].shape, np.float64)
            for position in positions:
                total += self._matrices[position][task]
            view = View(MatrixScores(total / len(positions)), index, gold, cuts.depth)
            for suite in PROXIED:
                for metric, (_, values) in SUITES[suite].values(view).items():
                    if len(values):
                        found.setdefault(f"dev/{suite}/{metric}", []).append(float(np.mean(values)))
        return {name: float(np.mean(values)) for name, values in found.items()}


def _read(path: Path, tasks: int) -> list[np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as held:
            return [held[str(task)] for task in range(tasks)]
    except (OSError, ValueError, KeyError) as error:
        raise StockpotError(f"{path}: not the kept similarities of {tasks} corpora ({error}); evaluate again") from None
