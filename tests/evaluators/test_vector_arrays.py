"""A folder of arrays gives what the JSON of the same vectors gives, and stays where it lies."""

from __future__ import annotations

import json

import numpy as np
import pytest

from corpora import native
from corpora.chunks import chunk_table, trec_id
from corpora.errors import InputError
from evaluators import vector_arrays
from evaluators.evaluate import evaluate
from evaluators.suites.needle import NeedlePlan
from evaluators.tasks import Task
from evaluators.vectors import FileVectors
from tests.evaluators.worlds import word_tokenizer


@pytest.fixture
def corpus(golden):
    return native.read(golden)


@pytest.fixture
def folder(golden, corpus, tmp_path):
    content = json.loads((golden / "vectors.json").read_text())
    np.save(tmp_path / "queries.npy", np.array([content["queries"][query.id] for query in corpus.queries]))
    rows = [row for document in corpus.documents for row in content["chunks"].get(document.id, [])]
    np.save(tmp_path / "chunks.npy", np.array(rows))
    write_ids(tmp_path, "queries", [trec_id(query.id) for query in corpus.queries])
    write_ids(tmp_path, "chunks", chunk_table(corpus, "given").ids())
    return tmp_path


def write_ids(folder, name, ids):
    (folder / f"{name}.txt").write_text("".join(f"{each}\n" for each in ids))


def values(vectors, corpus):
    return evaluate(vectors, [Task("golden", corpus)], ("q2c", "q2d", "context"), chunking="given").per_query


def test_the_same_values_as_from_json(folder, golden, corpus):
    found = FileVectors.read(folder, corpus)
    assert values(found, corpus).equals(values(FileVectors.read(golden / "vectors.json", corpus), corpus))
    assert isinstance(found._chunks, np.memmap)


def test_rows_in_another_order_with_others_between(folder, corpus):
    expected = values(FileVectors.read(folder, corpus), corpus)
    for name in ("queries", "chunks"):
        rows, ids = np.load(folder / f"{name}.npy"), (folder / f"{name}.txt").read_text().splitlines()
        order = np.random.default_rng(0).permutation(len(ids))
        np.save(folder / f"{name}.npy", np.concatenate([rows[:1] + 7, rows[order]]))
        write_ids(folder, name, ["other#000000", *(ids[place] for place in order)])
    assert values(FileVectors.read(folder, corpus), corpus).equals(expected)


@pytest.mark.parametrize(("change", "words"), [
    (lambda folder: (folder / "chunks.txt").unlink(), "chunks.txt: cannot be read"),
    (lambda folder: (folder / "queries.npy").write_bytes(b"no array"), "queries.npy: is no whole .npy file of numbers"),
    (lambda folder: (folder / "queries.npy").write_bytes(b""), "queries.npy: is no whole .npy file of numbers"),
    (lambda folder: (folder / "queries.npy").write_bytes(b"PK\x03\x04"), "queries.npy: .* is an archive of arrays"),
    (lambda folder: [np.save(folder / f"{name}.npy", np.load(folder / f"{name}.npy")[:, :0]) for name in ("queries", "chunks")],
     "chunks.npy: holds vectors of no numbers"),
    (lambda folder: (folder / "chunks.txt").write_bytes(b"\xff"), "chunks.txt: is not UTF-8"),
    (lambda folder: np.save(folder / "queries.npy", np.zeros((3, 2))), "rows, queries.npy has 3"),
    (lambda folder: np.save(folder / "queries.npy", np.load(folder / "queries.npy").astype(np.float32)), "both must be alike"),
    (lambda folder: np.save(folder / "queries.npy", np.load(folder / "queries.npy").astype(np.float16)), "float32 or float64"),
    (lambda folder: write_ids(folder, "queries", ["x", *(folder / "queries.txt").read_text().splitlines()[1:]]), "lacks"),
    (lambda folder: write_ids(folder, "queries", [(folder / "queries.txt").read_text().splitlines()[0]]
                              * len((folder / "queries.txt").read_text().splitlines())), "again"),
])
def test_what_is_refused(folder, corpus, change, words):
    change(folder)
    with pytest.raises(InputError, match=words):
        FileVectors.read(folder, corpus)


def test_numbers_that_are_not_finite_and_zeros_are_named_by_row_and_id(folder, corpus, monkeypatch):
    monkeypatch.setattr(vector_arrays, "BLOCK", 100)
    rows, ids = np.load(folder / "chunks.npy"), (folder / "chunks.txt").read_text().splitlines()
    rows[[0, 37], 3] = np.nan, np.inf
    rows[20] = 0
    said = {0: "holds numbers that are not finite", 20: vector_arrays.NO_DIRECTION, 37: "holds numbers that are not finite"}
    for order in (slice(None), slice(None, None, -1)):  # as it is mapped, and gathered
        np.save(folder / "chunks.npy", rows[order])
        write_ids(folder, "chunks", ids[order])
        with pytest.raises(InputError) as caught:
            FileVectors.read(folder, corpus)
        places = range(len(ids))[order]
        assert [str(problem) for problem in caught.value.problems] == [
            f"{folder / 'chunks.npy'}: row {places.index(row)} ({ids[row]}): {why}" for row, why in said.items()]


def test_rows_that_are_not_finite_are_counted_where_they_are_many_and_passed_over_where_nobody_asks(folder, corpus):
    rows, ids = np.load(folder / "chunks.npy"), (folder / "chunks.txt").read_text().splitlines()
    np.save(folder / "chunks.npy", np.concatenate([rows, rows[:1] * np.nan]))
    write_ids(folder, "chunks", [*ids, "other#000000"])
    FileVectors.read(folder, corpus)
    np.save(folder / "chunks.npy", rows * np.nan)
    write_ids(folder, "chunks", ids)
    with pytest.raises(InputError, match=f"holds {len(ids) - 20} more rows like these"):
        FileVectors.read(folder, corpus)


def test_needles_need_an_encoder(folder, corpus):
    with pytest.raises(InputError, match="needle"):
        evaluate(FileVectors.read(folder, corpus), [Task("golden", corpus)], ("needle",), chunking="given",
                 needle=NeedlePlan(lengths=(64,)), tokenizer=word_tokenizer())
