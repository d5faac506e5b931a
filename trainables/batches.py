"""Which documents and queries a step sees, and what they should learn (DESIGN section 5).

An epoch visits every document that has a pair once, in random order. Documents of one
family are drawn `siblings_per_batch` at a time, for siblings are the hardest negatives,
and documents of like length come together, so that little is padded. A document's pairs
take turns over the epochs. Everything is a pure function of (seed, step).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from corpora.errors import InputError, Problem
from trainables.data import TrainingData
from trainables.recipe import Recipe
from trainables.targets import distribution, gold_chunk, relevance

_ORDER, _CHUNKING, _PAIRS = 0, 1, 2
"""Streams of random numbers that never meet: (seed, stream, ...)."""

_SORTED_TOGETHER = 8
"""Batches whose documents are sorted by length among themselves."""


@dataclass(frozen=True)
class Batch:
    """One step's global batch of N documents, P pairs and C chunks.

    chunking: its spelling, the same for all documents;
    documents: int64 [N], places in the corpus, distinct in text;
    pairs: int64 [P], places among the pairs of the data;
    positive: int64 [P], the place of d+ among `documents`; excluded: bool [P, N];
    owner: int64 [C], the place of each chunk's document; chunks lie document after document;
    target: float32 [P, C], p_T; gold: int64 [P], the gold chunk or -1;
    dataset: the place of its corpus where several are mixed (trainables/mixture.py).
    """

    chunking: str
    documents: NDArray
    pairs: NDArray
    positive: NDArray
    excluded: NDArray
    owner: NDArray
    target: NDArray
    gold: NDArray
    dataset: int = 0


class Batches:
    def __init__(self, data: TrainingData, recipe: Recipe, seed: int):
        self.data, self.recipe, self.seed = data, recipe, seed
        if not len(data):
            raise InputError(Problem("training corpus", "no query has a target document of positive grade: nothing to train on"))
        self._tables = {spelling: data.prepared.table(spelling) for spelling in recipe.chunking_mix}
        order = np.argsort(data.pair_document, kind="stable")
        self._with_pairs, first = np.unique(data.pair_document[order], return_index=True)
        self._pairs_of = dict(zip(self._with_pairs.tolist(), np.split(order, first[1:]), strict=True))
        self._epoch = lru_cache(maxsize=2)(self._draw_epoch)

    def batch(self, step: int) -> Batch:
        """The batch of the update from `step` to `step + 1`."""
        size = self.recipe.documents_per_batch
        per_epoch = max(len(self._with_pairs) // size, 1)
        epoch, place = divmod(step, per_epoch)
        documents = self._epoch(epoch)[place]
        pairs = np.concatenate([self._turn(document, epoch) for document in documents.tolist()])
        return self._compose(self._draw_chunking(step), documents, pairs)

    def _draw_epoch(self, epoch: int) -> list[NDArray]:
        """The documents of each batch of an epoch; the last drawn, if they fill no batch, sit it out."""
        rng = np.random.default_rng((self.seed, _ORDER, epoch))
        size, text = self.recipe.documents_per_batch, self.data.text
        groups = self._draw_siblings(rng)
        documents = np.concatenate(groups)
        if len(documents) < size:
            others = np.setdiff1d(np.arange(len(text)), documents)
            return [_distinct(np.concatenate([documents, rng.permutation(others)]), text)[:size]]
        length = np.concatenate([np.full(len(group), self._lengths[group].mean()) for group in groups])
        batches = []
        for start in range(0, len(documents) // size * size, size * _SORTED_TOGETHER):
            run = slice(start, min(start + size * _SORTED_TOGETHER, len(documents) // size * size))
            by_length = documents[run][np.argsort(length[run], kind="stable")]
            batches += np.split(by_length, len(by_length) // size)
        return [_distinct(batches[place], text) for place in rng.permutation(len(batches))]

    def _draw_siblings(self, rng: np.random.Generator) -> list[NDArray]:
        """The documents with pairs, shuffled in groups of up to `siblings_per_batch` of one family."""
        shuffled = rng.permutation(self._with_pairs)
        shuffled = shuffled[np.argsort(self.data.family[shuffled], kind="stable")]
        families = np.split(shuffled, np.flatnonzero(np.diff(self.data.family[shuffled])) + 1)
        width = self.recipe.siblings_per_batch
        groups = [family[start : start + width] for family in families for start in range(0, len(family), width)]
        return [groups[place] for place in rng.permutation(len(groups))]

    @cached_property
    def _lengths(self) -> NDArray:
        """int64 [documents]: tokens"""
        return np.array([len(self.data.prepared.encodings(place)[0]) for place in range(len(self.data.text))])

    def _draw_chunking(self, step: int) -> str:
        mix = self.recipe.chunking_mix
        spellings = sorted(mix)
        shares = np.array([mix[spelling] for spelling in spellings])
        rng = np.random.default_rng((self.seed, _CHUNKING, step))
        return spellings[rng.choice(len(spellings), p=shares / shares.sum())]

    def _turn(self, document: int, epoch: int) -> NDArray:
        """The document's pairs of this epoch: each round through all of them has an order of its own."""
        own = self._pairs_of.get(document, np.empty(0, np.int64))
        count = min(self.recipe.queries_per_document, len(own))
        taken = []
        for turn in range(epoch * count, (epoch + 1) * count):
            cycle, place = divmod(turn, len(own))
            order = np.random.default_rng((self.seed, _PAIRS, document, cycle)).permutation(len(own))
            taken.append(own[order[place]])
        return np.unique(np.array(taken, np.int64))

    def _compose(self, chunking: str, documents: NDArray, pairs: NDArray) -> Batch:
        data, table = self.data, self._tables[chunking]
        chunks = [table.span[table.indptr[document] : table.indptr[document + 1]] for document in documents.tolist()]
        first = np.concatenate([[0], np.cumsum([len(spans) for spans in chunks])])
        place = {document: column for column, document in enumerate(documents.tolist())}
        positive = np.array([place[document] for document in data.pair_document[pairs].tolist()], np.int64)
        excluded = np.zeros((len(pairs), len(documents)), bool)
        target, gold = np.zeros((len(pairs), first[-1]), np.float32), np.full(len(pairs), -1)
        for row, (pair, column) in enumerate(zip(pairs.tolist(), positive.tolist(), strict=True)):
            excluded[row] = np.isin(data.text[documents], data.relevant[data.pair_query[pair]])
            excluded[row, column] = False
            scores = relevance(data.row_start[pair], data.row_score[pair], chunks[column], self.recipe.top_n)
            target[row, first[column] : first[column + 1]] = distribution(scores, self.recipe.teacher_temperature)
            best = gold_chunk(data.answers[pair], chunks[column])
            gold[row] = first[column] + best if best >= 0 else -1
        owner = np.repeat(np.arange(len(documents)), np.diff(first))
        return Batch(chunking, documents, pairs, positive, excluded, owner, target, gold)


def _distinct(documents: NDArray, text: NDArray) -> NDArray:
    """The first document of each text, in order: no document is its own negative under another id."""
    _, first = np.unique(text[documents], return_index=True)
    return documents[np.sort(first)]
