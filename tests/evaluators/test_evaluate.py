"""The worked values of tests/golden, and the fast path against plain loops on random corpora."""

from __future__ import annotations

import json

import numpy as np
import pytest

from corpora import native
from corpora.chunks import chunk_table
from corpora.errors import InputError, NonFinite
from evaluators.encoder import Encoded, Truncated
from evaluators.evaluate import evaluate
from evaluators.tasks import Task
from evaluators.vectors import FileVectors
from tests.evaluators.reference import Reference
from tests.evaluators.worlds import Given, random_world

SUITES = ("q2c", "q2d", "context", "spans", "conteb", "storage", "chunk-size")


def axes(results):
    frame = results.per_query
    return {tuple(row): value for *row, value in frame[
        ["suite", "metric", "dimension", "precision", "query", "value"]].itertuples(index=False)}


def named(spelling):
    """The suite and metric of a name in expected.json."""
    if spelling.startswith("Q2"):
        return spelling[:3].lower(), spelling[4:]
    return ("spans" if spelling.startswith(("Span", "Union")) else "context"), spelling


@pytest.fixture(scope="module")
def worked(golden):
    corpus = native.read(golden)
    results = evaluate(FileVectors.read(golden / "vectors.json", corpus), [Task("golden", corpus)], SUITES,
                       dimensions=(16, 8), ks=(1, 3, 5, 10), chunking="given")
    return results, json.loads((golden / "expected.json").read_text())


def test_worked_values_per_query(worked):
    results, expected = worked
    found = axes(results)
    compared = 0
    for title, block in expected.items():
        precision, dimension = _title(title)
        for query, values in block["per_query"].items():
            for spelling, value in values.items():
                assert found[*named(spelling), dimension, precision, query] == pytest.approx(value, abs=1e-12), (
                    title, query, spelling)
                compared += 1
    assert compared == 1812


def test_worked_means_and_counts(worked):
    results, expected = worked
    rows = results.rows().set_index(["suite", "metric", "dimension", "precision"])
    for title, block in expected.items():
        precision, dimension = _title(title)
        for spelling, value in block["mean"].items():
            row = rows.loc[(*named(spelling), dimension, precision)]
            assert row["value"].item() == pytest.approx(value, abs=1e-12)
            assert row["queries"].item() == block["queries"][spelling]


def _title(title):
    precision, size = title.split(", ")
    return precision.removesuffix("-absmax"), int(size.removeprefix("first ").split()[0])


@pytest.mark.parametrize("seed", range(20))
def test_equals_plain_loops(seed):
    corpus, queries, vectors = random_world(seed)
    table = chunk_table(corpus, "given")
    chunks, chunk_vectors = {document.id: {} for document in corpus.documents}, {}
    for row in range(len(table)):
        document = corpus.documents[table.document[row]].id
        chunks[document][int(table.number[row])] = tuple(table.span[row].tolist())
        chunk_vectors[document, int(table.number[row])] = vectors[row]
    reference = Reference(corpus, chunks, dict(zip([query.id for query in corpus.queries], queries, strict=True)),
                          chunk_vectors)
    results = evaluate(Given(queries, vectors), [Task("world", corpus)], ("q2c", "q2d", "context", "spans"),
                       dimensions=(6, 3), ks=(1, 3, 5, 10), budgets=(), chunking="given")
    found = axes(results)
    for precision in ("float32", "int8", "binary"):
        for dimension in (6, 3):
            expected = reference.measure(precision, dimension)
            mine = {(suite, metric, query): value for (suite, metric, cut, stored, query), value in found.items()
                    if (cut, stored) == (dimension, precision) and not metric.startswith("ContextTokens")}
            assert mine.keys() == expected.keys()
            for key, value in expected.items():
                assert mine[key] == pytest.approx(value, abs=1e-12), (precision, dimension, key)


def test_ids_do_not_matter_to_a_perfect_run():
    """Queries whose vector is their answer's own score 1.0, also where ids are "0", "1", ..."""
    from corpora.documents import Corpus, Document, Query, Target

    documents = tuple(Document(str(number), f"text {number}", chunks=((0, 6 + (number > 9)),)) for number in range(20))
    queries = tuple(Query(str(number), "q", (Target(str(19 - number), 1, ((0, 4),)),)) for number in range(20))
    corpus, vectors = Corpus("perfect", documents, queries), np.eye(20, dtype=np.float32)
    results = evaluate(Given(vectors[::-1].copy(), vectors), [Task("perfect", corpus)], ("q2c", "q2d", "spans"),
                       chunking="given")
    rows = results.rows()
    exact = rows[(rows.precision != "binary") & ~rows.metric.str.startswith("ContextTokens")]
    assert (exact.value == 1).all()


def test_an_encoder_that_drops_tokens_or_chunks_fails():
    corpus, queries, vectors = random_world(0)

    class Drops(Given):
        def documents(self, corpus, table):
            return Encoded(vectors, 100, 99, len(vectors), len(vectors))

    class Loses(Given):
        def documents(self, corpus, table):
            return Encoded(vectors[1:], 1, 1, len(vectors), len(vectors) - 1)

    for kind in (Drops, Loses):
        with pytest.raises(Truncated):
            evaluate(kind(queries, vectors), [Task("world", corpus)], ("q2c",), chunking="given")


def test_vectors_that_are_not_finite_fail():
    corpus, queries, vectors = random_world(0)
    vectors[3, 2] = np.nan
    with pytest.raises(NonFinite):
        evaluate(Given(queries, vectors), [Task("world", corpus)], ("q2c",), chunking="given")


def test_everything_wrong_with_a_request_at_once():
    corpus, queries, vectors = random_world(0)
    with pytest.raises(InputError) as caught:
        evaluate(Given(queries, vectors), [Task("world", corpus)] * 2, ("q2c", "q2x"), dimensions=(7,),
                 precisions=("int4",))
    assert len(caught.value.problems) == 4
    with pytest.raises(InputError):
        evaluate(Given(queries, vectors), [Task("world", corpus)], ("q2c",), ks=(0, 1))


def test_metrics_without_queries_are_absent():
    from corpora.documents import Corpus, Document, Query, Target

    corpus = Corpus("bare", (Document("d", "text", chunks=((0, 4),)),), (Query("q", "q", (Target("d"),)),))
    results = evaluate(Given(np.ones((1, 2), np.float32), np.ones((1, 2), np.float32)), [Task("bare", corpus)],
                       ("q2c", "q2d", "context", "spans"), chunking="given")
    assert set(results.rows().suite) == {"q2d", "context"}
    assert set(results.rows().metric) == {f"{name}@{k}" for name in ("nDCG", "Document") for k in (1, 5, 10)}
    lacking = results.counts[results.counts.name == "queries without answers"]
    assert (lacking.value == 1).all()


def test_encoders_of_single_chunks_run_twice():
    corpus, _, _ = random_world(1)

    class Isolated(Given):
        contextual = False

        def __init__(self):
            super().__init__(np.random.default_rng(0).normal(size=(len(corpus.queries), 4)).astype(np.float32), None)

        def documents(self, corpus, table):
            vectors = np.random.default_rng(len(table)).normal(size=(len(table), 4)).astype(np.float32)
            return Encoded(vectors, 0, 0, len(table), len(table))

    results = evaluate(Isolated(), [Task("world", corpus)], ("context",))
    rows = results.rows()
    assert set(rows.chunking) == {"sentence", "whole"}
    assert set(rows[rows.chunking == "whole"].metric) == {"Document@1", "Document@5", "Document@10"}
    whole = rows[(rows.chunking == "whole") & (rows.metric == "Document@1") & (rows.precision == "float32")]
    assert results.figures()["context/Document@1"] == whole.value.item()
