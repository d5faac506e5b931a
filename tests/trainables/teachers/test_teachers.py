"""Scoring once: content-addressed files, and refusals that name everything."""

from __future__ import annotations

import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpora import scores
from corpora.errors import InputError
from trainables.recipe import TeacherConfig
from trainables.teachers import score


def parquet(path, **changes):
    columns = {"query": ["q0", "q0", "q1"], "document": ["d0"] * 3, "start": [4, 0, 0], "end": [7, 3, 3],
               "score": [0.25, 0.5, 1.0]}
    pq.write_table(pa.table(columns | changes), path)
    return str(path)


def test_scored_once_and_named_by_content(family_corpus, tmp_path):
    path = score(TeacherConfig(), family_corpus, tmp_path)
    written = path.stat().st_mtime_ns
    assert score(TeacherConfig(), family_corpus, tmp_path) == path and path.stat().st_mtime_ns == written
    assert score(TeacherConfig(smoothing=0.2), family_corpus, tmp_path) != path
    assert path.parent == tmp_path / "scores"


def test_a_file_is_checked_and_its_content_counts(family_corpus, tmp_path):
    given = TeacherConfig(kind="file", path=parquet(tmp_path / "given.parquet"))
    path = score(given, family_corpus, tmp_path)
    starts, ends, values = scores.read(path).rows("q0", "d0")
    assert (starts.tolist(), ends.tolist(), values.tolist()) == ([0, 4], [3, 7], [0.5, 0.25])
    shutil.copy(given.path, tmp_path / "copy.parquet")
    assert score(TeacherConfig(kind="file", path=str(tmp_path / "copy.parquet")), family_corpus, tmp_path) == path
    parquet(tmp_path / "given.parquet", score=[0.0, 0.5, 1.0])
    assert score(given, family_corpus, tmp_path) != path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"query": ["q0", "q0", "nobody"]}, "nobody"),
        ({"end": [7, 3, 9999]}, "9999"),
        ({"score": [0.0, float("nan"), 1.0]}, "not a finite number"),
        ({"start": [8, 0, 0]}, "reversed"),
    ],
)
def test_a_wrong_file_is_refused_whole(family_corpus, tmp_path, changes, message):
    path = parquet(tmp_path / "wrong.parquet", **changes)
    with pytest.raises(InputError, match=message):
        score(TeacherConfig(kind="file", path=path), family_corpus, tmp_path)
    assert not list((tmp_path / "scores").glob("*"))


@pytest.mark.parametrize("kind", ["file", "late-interaction", "token-classifier"])
def test_a_missing_path_is_said(family_corpus, tmp_path, kind):
    with pytest.raises(InputError, match="teacher.path"):
        score(TeacherConfig(kind=kind), family_corpus, tmp_path)
    with pytest.raises(InputError, match="nowhere"):
        score(TeacherConfig(kind=kind, path=str(tmp_path / "nowhere")), family_corpus, tmp_path)
