"""Several corpora: each batch from one of them, by weight; one corpus alone is what it was."""

from __future__ import annotations

import dataclasses
import shutil

import numpy as np
import pytest

from corpora.documents import Corpus
from corpora.tokens import Tokenizer
from trainables.batches import Batches
from trainables.data import TrainingData
from trainables.loop import Loop
from trainables.mixture import MixedBatches, Mixture
from trainables.recipe import Recipe
from trainables.training import BuiltIn


def recipe(**fields) -> Recipe:
    return Recipe(**{"documents_per_batch": 2, "queries_per_document": 1, "chunking_mix": {"sentence": 1, "tokens:4": 1}, **fields})


def same(one, other) -> bool:
    return all(np.array_equal(getattr(one, field.name), getattr(other, field.name)) for field in dataclasses.fields(one))


@pytest.fixture(scope="module")
def two(family_corpus, tiny_base, tmp_path_factory):
    """Training data of the first four documents, and of the others."""
    from corpora.prepared import prepare

    store, tokenizer = tmp_path_factory.mktemp("mixed"), Tokenizer.from_folder(tiny_base)
    folders = []
    for name, documents in (("a", family_corpus.documents[:4]), ("b", family_corpus.documents[4:])):
        kept = {document.id for document in documents}
        queries = tuple(q for q in family_corpus.queries if all(target.document in kept for target in q.targets))
        corpus = Corpus(name, documents, queries)
        prepared = prepare(corpus, tokenizer, ["sentence", "tokens:4"], store / "prepared")
        folders.append(TrainingData.build(corpus, prepared, tokenizer, None, store))
    return store, folders


def test_batches_come_from_one_corpus_each_by_weight_and_from_the_seed(two):
    store, folders = two
    mixture = Mixture.open(Mixture.build(folders, [3, 1], store))
    batches = MixedBatches(mixture, recipe())
    found = [batches.batch(step) for step in range(200)]
    share = np.mean([batch.dataset == 0 for batch in found])
    assert 0.65 < share < 0.85
    for step in (0, 7, 150):
        assert same(MixedBatches(mixture, recipe()).batch(step), found[step])
    assert any(not same(MixedBatches(mixture, recipe(seed=1)).batch(step), found[step]) for step in range(5))
    for place, part in enumerate(mixture.parts):
        own = [batch for batch in found if batch.dataset == place]
        assert all(batch.pairs.max() < len(part) and batch.documents.max() < len(part.text) for batch in own)
        documents = np.concatenate([batch.documents for batch in own[:2]])
        assert len(set(documents.tolist())) == len(documents) == 4 or place == 1, "an epoch of its own, without repeats"


def test_one_corpus_alone_draws_what_it_drew(two):
    store, folders = two
    assert Mixture.build(folders[:1], [7], store) == folders[0]
    mixed, plain = MixedBatches(Mixture.open(folders[0]), recipe(seed=4)), Batches(TrainingData.open(folders[0]), recipe(seed=4), 4)
    assert all(same(mixed.batch(step), plain.batch(step)) for step in range(8))


def test_a_trial_trains_on_all_of_them(two, tiny_base, tmp_path):
    store, folders = two
    folder = Mixture.build(folders, [1, 1], store)
    trial = Loop(BuiltIn, recipe(steps=12, learning_rate=0.01, warmup_steps=0, weight=0.0), folder, tiny_base, tmp_path)
    assert np.isfinite(trial.train(12)["loss"])
    shutil.move(store, tmp_path / "moved")
    moved = Mixture.open(tmp_path / "moved" / folder.relative_to(store))
    shutil.move(tmp_path / "moved", store)
    assert moved.weights == (1, 1) and [len(part) for part in moved.parts] == [len(TrainingData.open(one)) for one in folders]
