"""Teacher rows: means over windows, pairs that are absent, files that are refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora import scores
from corpora.documents import Corpus, Document, Query, Target
from corpora.errors import InputError
from corpora.scores import PairRows

ROWS = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 3), st.floats(-1, 1, width=32)), min_size=1, max_size=12)


def pair(query, document, rows):
    starts, lengths, values = (np.array(column) for column in zip(*rows, strict=True))
    return PairRows(query, document, starts, starts + lengths, values, values * 2)


def means_by_loop(rows):
    groups = {}
    for start, length, value in rows:
        groups.setdefault((start, start + length), []).append(value)
    return [(start, end, np.float32(sum(values) / len(values))) for (start, end), values in sorted(groups.items())]


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.tuples(st.sampled_from("pq"), st.sampled_from("ab")), ROWS, min_size=1))
def test_rows_of_overlapping_windows_are_averaged(tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("scores")
    scores.write(folder / "ours.parquet", [pair(*key, rows) for key, rows in pairs.items()])
    flat = [
        (query, document, start, start + length, value)
        for (query, document), rows in pairs.items()
        for start, length, value in rows
    ]
    shuffled = [flat[place] for place in np.random.default_rng(0).permutation(len(flat))]
    pq.write_table(
        pa.table(dict(zip(("query", "document", "start", "end", "score"), zip(*shuffled, strict=True), strict=True))),
        folder / "theirs.parquet",
    )
    for name in ("ours.parquet", "theirs.parquet"):
        found = scores.read(folder / name)
        assert len(found) == len(pairs)
        for key, rows in pairs.items():
            starts, ends, values = found.rows(*key)
            assert (starts.dtype, ends.dtype, values.dtype) == (np.int32, np.int32, np.float32)
            expected = means_by_loop(rows)
            assert list(zip(starts, ends, strict=True)) == [row[:2] for row in expected]
            np.testing.assert_allclose(values, [row[2] for row in expected], atol=1e-7)


def test_a_pair_without_rows_is_none(tmp_path):
    empty = np.empty(0)
    scores.write(tmp_path / "s.parquet", [pair("q", "a", [(0, 1, 0.5)]), PairRows("q", "b", empty, empty, empty)])
    found = scores.read(tmp_path / "s.parquet")
    assert found.rows("q", "b") is None and found.rows("z", "a") is None
    scores.write(tmp_path / "none.parquet", [])
    assert scores.read(tmp_path / "none.parquet").rows("q", "a") is None


def test_the_same_rows_give_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        scores.write(tmp_path / name, [pair("q", "a", [(0, 1, 0.5), (3, 1, 0.25)])])
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize(
    "rows, said",
    [
        ([(0, 1, float("nan"))], "not a finite number"),
        ([(0, 1, float("inf"))], "not a finite number"),
        ([(3, -2, 0.5)], "empty, reversed or negative"),
        ([(3, 0, 0.5)], "empty, reversed"),
        ([(-1, 2, 0.5)], "negative"),
    ],
)
def test_bad_rows_are_refused_on_both_ways(tmp_path, rows, said):
    with pytest.raises(InputError, match=said):
        scores.write(tmp_path / "s.parquet", [pair("q", "a", rows)])
    assert not (tmp_path / "s.parquet").exists()
    start, length, value = rows[0]
    pq.write_table(
        pa.table({"query": ["q"], "document": ["a"], "start": [start], "end": [start + length], "score": [value]}),
        tmp_path / "t.parquet",
    )
    with pytest.raises(InputError, match=said):
        scores.read(tmp_path / "t.parquet")


def test_foreign_files_are_refused_with_a_reason(tmp_path):
    (tmp_path / "s.parquet").write_text("no parquet")
    with pytest.raises(InputError, match="no readable parquet"):
        scores.read(tmp_path / "s.parquet")
    pq.write_table(pa.table({"query": ["q"], "start": [0]}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="lacks the columns document, end, score"):
        scores.read(tmp_path / "t.parquet")
    pq.write_table(
        pa.table({"query": ["q"], "document": ["a"], "start": ["x"], "end": [1], "score": [0.5]}),
        tmp_path / "u.parquet",
    )
    with pytest.raises(InputError, match="column start"):
        scores.read(tmp_path / "u.parquet")


def test_scores_of_another_corpus_are_named(tmp_path):
    corpus = Corpus("c", (Document("a", "abc"),), (Query("q", "?", (Target("a"),)),))
    scores.write(
        tmp_path / "s.parquet",
        [pair("q", "a", [(2, 2, 0.5)]), pair("z", "a", [(0, 1, 0.5)]), pair("q", "b", [(0, 1, 0.5)])],
    )
    found = [problem.message for problem in scores.read(tmp_path / "s.parquet").problems(corpus)]
    assert found == [
        "a row ends at 4, outside the text of 3 characters",
        "no query of the corpus has this id",
        "no document of the corpus has this id",
    ]
