from __future__ import annotations

import json

import pytest

from evaluators.evaluate import evaluate
from evaluators.mteb_results import mteb_name, write_mteb
from evaluators.tasks import Task
from tests.evaluators.worlds import Given, random_world


@pytest.fixture(scope="module")
def results():
    corpus, queries, vectors = random_world(5)
    return evaluate(Given(queries, vectors), [Task("a b/c", corpus)], ("q2c", "q2d", "context", "storage"),
                    dimensions=(6, 3), chunking="given")


@pytest.fixture
def written(results, tmp_path):
    return {path.name: json.loads(path.read_text()) for path in write_mteb(tmp_path, results)}


def test_one_file_a_task_and_suite(results, written):
    assert set(written) == {f"a-b-c.{suite}.json" for suite in ("q2c", "q2d", "context", "storage")}
    q2c = written["a-b-c.q2c.json"]
    assert q2c["task_name"] == "a b/c-q2c" and q2c["dataset_revision"] == results.tasks.corpus_sha256[0]
    (scores,) = q2c["scores"]["test"]
    assert scores["main_score"] == scores["ndcg_at_10"] == results.figures()["q2c/nDCG@10"]
    (context,) = written["a-b-c.context.json"]["scores"]["test"]
    assert context["main_score"] == results.figures()["context/Answer@10"]


def test_settings_of_storage_are_subsets(results, written):
    found = {each["hf_subset"]: each["main_score"] for each in written["a-b-c.storage.json"]["scores"]["test"]}
    assert found["d=3,binary"] == results.figures()["storage/nDCG@10[d=3,binary]"] and len(found) == 6


def test_names_as_mteb_spells_them():
    assert [mteb_name(name) for name in ("nDCG@10", "SpanHit@2000tok", "drop")] == [
        "ndcg_at_10", "spanhit_at_2000tok", "drop"]


def test_mteb_reads_them(results, tmp_path):
    mteb = pytest.importorskip("mteb", reason="mteb is not installed: pip install -c constraints.txt '.[test]'")
    for path in write_mteb(tmp_path, results):
        read = mteb.TaskResult.from_disk(path)
        assert read.dataset_revision == results.tasks.corpus_sha256[0] and read.task_name.startswith("a b/c-")
        if read.task_name.endswith("q2c"):
            assert read.get_score() == results.figures()["q2c/nDCG@10"]
