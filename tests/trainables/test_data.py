"""What a trial reads: pairs, rows, answers and relevance against the corpus they came from."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from corpora.errors import InputError, StockpotError
from corpora.prepared import Prepared
from corpora.tokens import Tokenizer
from trainables.data import Ragged, TrainingData, pairs_of


def test_pairs_are_targets_of_positive_grade(family_corpus):
    pairs = [(family_corpus.queries[q].id, family_corpus.documents[d].id) for q, d, _ in pairs_of(family_corpus)]
    assert len(pairs) == len(set(pairs)) == 17
    assert ("q11", "d0") not in pairs and ("q11", "d5") in pairs
    assert {document for query, document in pairs if query == "q12"} == {"d0", "d1"}


def test_the_arrays_hold_what_the_corpus_says(family_corpus, training_folder, tiny_base):
    data = TrainingData.open(training_folder)
    tokenizer = Tokenizer.from_folder(tiny_base)
    assert data.text.tolist() == [0, 1, 2, 3, 4, 5, 6, 6]
    assert data.family.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    for place, query in enumerate(family_corpus.queries):
        assert data.query_tokens[place].tolist() == tokenizer.encode([query.text])[0][0].tolist()
    for pair, (query, document, answers) in enumerate(pairs_of(family_corpus)):
        assert (data.pair_query[pair], data.pair_document[pair]) == (query, document)
        assert [tuple(span) for span in data.answers[pair].tolist()] == answers
        starts, text = data.row_start[pair], family_corpus.documents[document].text
        assert (np.diff(starts) > 0).all() and len(data.row_score[pair]) == len(starts)
        assert len(starts) == (len(text.split()) if answers else 0)


def test_relevant_texts_are_shared_by_queries_of_the_same_text(family_corpus, training_folder):
    data = TrainingData.open(training_folder)
    relevant = {query.id: data.relevant[place].tolist() for place, query in enumerate(family_corpus.queries)}
    assert relevant["q12"] == [0, 1]
    assert relevant["q14"] == relevant["q15"] == [2, 3]
    assert relevant["q13"] == [6]  # the text of d7, which d6 has too
    assert relevant["q11"] == [5]


def test_built_once_and_found_again_after_a_move(family_corpus, training_folder, tiny_base, tmp_path):
    store = training_folder.parent.parent
    before = TrainingData.open(training_folder)
    files = {file.name: file.stat().st_mtime_ns for file in training_folder.iterdir()}
    scores = next((store / "scores").glob("*.parquet"))
    again = TrainingData.build(family_corpus, before.prepared, Tokenizer.from_folder(tiny_base), scores, store)
    assert again == training_folder
    assert files == {file.name: file.stat().st_mtime_ns for file in training_folder.iterdir()}
    shutil.copytree(store, tmp_path / "moved")
    moved = TrainingData.open(tmp_path / "moved" / training_folder.relative_to(store))
    assert moved.prepared.folder.resolve().is_relative_to(tmp_path)
    assert isinstance(moved.prepared, Prepared) and moved.pair_document.tolist() == before.pair_document.tolist()


def test_other_scores_are_other_data(family_corpus, training_folder, tiny_base, tmp_path):
    prepared = TrainingData.open(training_folder).prepared
    folder = TrainingData.build(family_corpus, prepared, Tokenizer.from_folder(tiny_base), None, tmp_path)
    assert folder.name != training_folder.name
    assert not len(TrainingData.open(folder).row_start.values)


def test_a_missing_or_damaged_folder_is_refused(training_folder, tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        TrainingData.open(tmp_path / "nothing")
    damaged = tmp_path / "damaged"
    shutil.copytree(training_folder, damaged)
    (damaged / "row_score.npy").write_bytes(b"")
    with pytest.raises(StockpotError, match="row_score"):
        TrainingData.open(damaged)


def test_ragged_lists_come_back():
    ragged = Ragged.of([[(1, 2)], [], [(3, 4), (5, 6)]], np.int32, width=2)
    assert len(ragged) == 3
    assert [one.tolist() for one in ragged] == [[[1, 2]], [], [[3, 4], [5, 6]]]
    assert Ragged.of([], np.int32, width=2).values.shape == (0, 2)
