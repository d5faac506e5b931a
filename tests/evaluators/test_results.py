from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import InputError
from evaluators.evaluate import evaluate
from evaluators.results import Results, split_figure
from evaluators.tasks import Task
from tests.evaluators.worlds import Given, random_world


@pytest.fixture(scope="module")
def results():
    corpus, queries, vectors = random_world(5)
    return evaluate(Given(queries, vectors), [Task("world", corpus, domain="law")], ("q2c", "context", "storage"),
                    dimensions=(6, 3), chunking="given")


def test_parquet_gives_everything_back(results, tmp_path):
    results.to_parquet(tmp_path / "a.parquet")
    results.to_parquet(tmp_path / "b.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    again = Results.from_parquet(tmp_path / "a.parquet")
    assert again.encoder == results.encoder
    for name in ("per_query", "queries", "tasks", "counts"):
        assert getattr(again, name).equals(getattr(results, name)), name
    assert again.figures() == results.figures()


def test_other_parquet_files_are_refused(tmp_path):
    import pandas as pd

    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(InputError):
        Results.from_parquet(tmp_path / "x.parquet")


def test_figures_are_means_of_their_own_values(results):
    figures = results.figures()
    assert "q2c/nDCG@10" in figures and "storage/nDCG@10[d=3,binary]" in figures and "storage/nDCG@10" not in figures
    for name, value in figures.items():
        assert results.figure(name).mean() == pytest.approx(value)


def test_values_know_their_families_and_abilities(results):
    values = results.values("context", "Document@1")
    assert values.index.names == ["task", "query"]
    assert results.families().reindex(values.index).notna().all()
    assert results.abilities("Document@1").empty  # none is named
    one, two, *others = values.index
    queries = results.queries.set_index(["task", "query"])
    queries.loc[[one, two], "ability"] = ["order", "aliases"]
    abilities = replace(results, queries=queries.reset_index()).abilities("Document@1").set_index("ability")
    assert abilities.value.to_dict() == {"order": values[one], "aliases": values[two], "all": values[[one, two]].mean()}
    assert abilities.queries.to_dict() == {"order": 1, "aliases": 1, "all": 2} and others
    assert results.domains("q2c").set_index("domain").loc["law", "tasks"] == 1
    with pytest.raises(InputError):
        results.values("q2d", "nDCG@10")


def test_ties_at_the_cut_are_counted(results):
    ties = results.counts[(results.counts.name == "chunk ties at 10") & (results.counts.precision == "binary")]
    assert ties.value.max() > 0


@pytest.mark.parametrize(("name", "parts"), [
    ("q2c/nDCG@10", ("q2c", "nDCG@10", None)),
    ("chunk-size/nDCG@10[tokens:64]", ("chunk-size", "nDCG@10", "tokens:64")),
    ("storage/nDCG@10[d=64,int8]", ("storage", "nDCG@10", "d=64,int8")),
])
def test_figure_names(name, parts):
    assert split_figure(name) == parts


def test_the_order_of_documents_does_not_matter(results):
    """The same index in another order: the same value of every query."""
    from dataclasses import replace

    corpus, queries, vectors = random_world(5)
    order = np.random.default_rng(0).permutation(len(corpus.documents))
    sizes = [len(document.chunks) for document in corpus.documents]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    moved = np.concatenate([vectors[starts[place]:starts[place + 1]] for place in order])
    shuffled = replace(corpus, documents=tuple(corpus.documents[place] for place in order))
    again = evaluate(Given(queries, moved), [Task("world", shuffled)], ("q2c", "context", "storage"), dimensions=(6, 3),
                     chunking="given")
    assert np.array_equal(again.per_query.value, results.per_query.value)
