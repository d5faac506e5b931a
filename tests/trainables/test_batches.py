"""Batches are functions of (seed, step), visit everything, and carry the targets that plain loops find."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from corpora.errors import InputError
from trainables.batches import Batches
from trainables.data import TrainingData
from trainables.recipe import Recipe
from trainables.targets import distribution, gold_chunk, relevance


@pytest.fixture
def data(training_folder) -> TrainingData:
    return TrainingData.open(training_folder)


def recipe(**fields) -> Recipe:
    return Recipe(**{"documents_per_batch": 4, "siblings_per_batch": 2, "queries_per_document": 1, "chunking_mix": {"sentence": 1, "tokens:4": 3}, **fields})


def same(one, other) -> bool:
    return all(np.array_equal(getattr(one, field.name), getattr(other, field.name)) for field in dataclasses.fields(one))


def test_a_batch_depends_on_seed_and_step_alone(data):
    forwards = Batches(data, recipe(), 5)
    batches = [forwards.batch(step) for step in range(12)]
    for step in reversed(range(12)):
        assert same(Batches(data, recipe(), 5).batch(step), batches[step])
    other = Batches(data, recipe(), 6)
    assert not all(same(other.batch(step), batches[step]) for step in range(12))


def test_an_epoch_repeats_no_document_and_every_pair_has_its_turn(data):
    batches = Batches(data, recipe(documents_per_batch=2, queries_per_document=1), 0)
    visited, pairs = [], []
    for step in range(3 * 12):  # seven documents have pairs: three batches an epoch
        batch = batches.batch(step)
        visited.append(batch.documents.tolist())
        pairs += batch.pairs.tolist()
    for epoch in range(12):
        seen = np.concatenate(visited[3 * epoch : 3 * epoch + 3]).tolist()
        assert len(set(seen)) == len(seen) == 6
    assert set(np.concatenate(visited).tolist()) == set(data.pair_document.tolist())
    assert set(pairs) == set(range(len(data)))


def test_several_queries_a_document_without_repetition(data):
    batches = Batches(data, recipe(queries_per_document=3), 1)
    for step in range(6):
        batch = batches.batch(step)
        assert len(set(batch.pairs.tolist())) == len(batch.pairs) > len(batch.documents)
        assert np.array_equal(data.pair_document[batch.pairs], batch.documents[batch.positive])


def test_siblings_come_together(data):
    for step in range(6):
        families = data.family[Batches(data, recipe(), 2).batch(step).documents].tolist()
        assert all(families.count(family) == 2 or family == 3 for family in families)


def test_a_text_stands_once_in_a_batch(data):
    batches = Batches(data, recipe(documents_per_batch=8), 0)
    for step in range(5):
        documents = batches.batch(step).documents
        assert len(set(data.text[documents].tolist())) == len(documents) == 7


def test_a_small_corpus_fills_up_with_documents_without_pairs(data):
    few = dataclasses.replace(data, pair_query=data.pair_query[:2], pair_document=data.pair_document[:2])
    batch = Batches(few, recipe(documents_per_batch=5), 0).batch(3)
    assert len(batch.documents) == 5 and len(batch.pairs) == 1
    with pytest.raises(InputError, match="nothing to train on"):
        Batches(dataclasses.replace(data, pair_query=data.pair_query[:0], pair_document=data.pair_document[:0]), recipe(), 0)


def test_targets_exclusions_and_gold_match_plain_loops(data, family_corpus):
    settings = recipe(top_n=2, teacher_temperature=0.3, queries_per_document=3, documents_per_batch=6)
    batches, chunkings, excluded = Batches(data, settings, 3), set(), 0
    for step in range(10):
        batch = batches.batch(step)
        chunkings.add(batch.chunking)
        table = data.prepared.table(batch.chunking)
        owner = [place for place, document in enumerate(batch.documents) for _ in table.span[table.of(document)]]
        assert batch.owner.tolist() == owner
        for row, pair in enumerate(batch.pairs):
            query = family_corpus.queries[data.pair_query[pair]]
            positive = batch.documents[batch.positive[row]]
            wanted = {t.document for q in family_corpus.queries if q.text == query.text for t in q.targets if t.grade > 0}
            texts = {family_corpus.documents[family_corpus.position[document]].text for document in wanted}
            expected = [family_corpus.documents[d].text in texts and d != positive for d in batch.documents]
            assert batch.excluded[row].tolist() == expected
            excluded += sum(expected)
            spans = table.span[table.of(positive)]
            own = np.array(owner) == batch.positive[row]
            scores = relevance(data.row_start[pair], data.row_score[pair], spans, 2)
            np.testing.assert_allclose(batch.target[row, own], distribution(scores, 0.3), rtol=1e-6)
            assert not batch.target[row, ~own].any()
            gold = gold_chunk(data.answers[pair], spans)
            assert batch.gold[row] == (-1 if gold < 0 else np.flatnonzero(own)[gold])
    assert chunkings == {"sentence", "tokens:4"} and excluded > 5


def test_the_mix_is_drawn_by_its_shares(data):
    batches = Batches(data, recipe(chunking_mix={"sentence": 1, "tokens:4": 3}), 0)
    drawn = [batches.batch(step).chunking for step in range(200)]
    assert 0.65 < drawn.count("tokens:4") / 200 < 0.85


def test_batches_gather_documents_of_like_length(data):
    """With enough documents, the spread of lengths inside a batch is far below that of random batches."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(10, 1000, 256)
    pairs = np.arange(256)

    class Prepared:
        def table(self, spelling):
            return None

        def encodings(self, place):
            return np.empty(lengths[place]), None

    many = dataclasses.replace(data, prepared=Prepared(), pair_document=pairs, pair_query=pairs, text=pairs, family=pairs)
    batches = Batches(many, recipe(documents_per_batch=16), 0)._epoch(0)
    padded = sum(16 * lengths[batch].max() for batch in batches)
    assert padded < 1.2 * lengths.sum()
    assert sorted(np.concatenate(batches).tolist()) == list(range(256))
