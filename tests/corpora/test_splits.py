"""Splits: families whole, seeds repeatable, frozen files that notice any change, leaks found."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora import splits
from corpora.documents import Corpus, Document, Query, Target
from corpora.errors import InputError


def corpus_of(families, links=()):
    documents = tuple(
        Document(f"d{place}", f"text {place} of its own", family=family) for place, family in enumerate(families)
    )
    queries = [Query(f"q{place}", f"question {place}", (Target(f"d{place}"),)) for place in range(len(families))]
    queries += [
        Query(f"link{place}", f"link {place}", tuple(Target(f"d{number % len(families)}") for number in pair))
        for place, pair in enumerate(links)
    ]
    return Corpus("c", documents, tuple(queries))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 12), min_size=30, max_size=60),
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=3),
    st.integers(0, 5),
)
def test_nothing_is_torn_lost_or_doubled(numbers, links, seed):
    corpus = corpus_of([f"f{number}" for number in numbers], links)
    try:
        parts = splits.cut(corpus, seed=seed)
    except InputError as error:
        assert "too few" in str(error)
        return
    assert list(parts) == ["train", "dev", "confirm"] and all(part.documents for part in parts.values())
    for records in ("documents", "queries"):
        found = [record.id for part in parts.values() for record in getattr(part, records)]
        assert sorted(found) == sorted(record.id for record in getattr(corpus, records))
    for part in parts.values():
        assert all(target.document in part.position for query in part.queries for target in query.targets)
    held = [{document.family for document in part.documents} for part in parts.values()]
    assert sum(map(len, held)) == len(set().union(*held))
    assert splits.split_hash(parts) == splits.split_hash(splits.cut(corpus, seed=seed))


def test_shares_are_met_and_the_seed_matters():
    corpus = corpus_of([f"f{number // 2}" for number in range(200)])
    parts = splits.cut(corpus, {"train": 0.5, "dev": 0.25, "confirm": 0.15, "test": 0.1}, seed=1)
    assert [len(part.documents) for part in parts.values()] == [100, 50, 30, 20]
    assert splits.split_hash(parts) != splits.split_hash(
        splits.cut(corpus, {"train": 0.5, "dev": 0.25, "confirm": 0.15, "test": 0.1}, seed=2)
    )


def test_queries_of_one_text_stay_together():
    corpus = corpus_of(["a", "b", "c", "d"])
    queries = tuple(replace(query, text="same") if place < 2 else query for place, query in enumerate(corpus.queries))
    parts = splits.cut(replace(corpus, queries=queries))
    assert not splits.leaks(parts)
    assert splits.query_families(replace(corpus, queries=queries)) == ["a", "a", "c", "d"]
    assert splits.family_count(replace(corpus, queries=queries)) == 3


def test_a_judged_document_of_no_grade_joins_nothing():
    corpus = corpus_of(["a", "b", "c"])
    judged = Query("j", "judged", (Target("d0"), Target("d1", grade=0), Target("d2", grade=-1)))
    parts = splits.cut(replace(corpus, queries=(*corpus.queries, judged)))
    assert sorted(len(part.documents) for part in parts.values()) == [1, 1, 1]
    kept = [query for part in parts.values() for query in part.queries if query.id == "j"]
    assert [target.document for target in kept[0].targets] == ["d0"]


@pytest.mark.parametrize(
    ("shares", "said"),
    [({"train": 0.5}, "train 0.5 sum to 0.5, not to 1"), ({"train": 1.5, "dev": -0.5}, "share of dev is -0.5"), ({}, "no split is named")],
)
def test_wrong_shares_are_refused(shares, said):
    with pytest.raises(InputError, match=said):
        splits.cut(corpus_of(["a", "b", "c"]), shares)


def test_frozen_splits_come_back_and_notice_changes(tmp_path):
    corpus = corpus_of([f"f{number // 2}" for number in range(20)] + [None])
    parts = splits.cut(corpus, seed=3)
    digest = splits.freeze(tmp_path, corpus, parts)
    assert splits.thaw(tmp_path, corpus) == parts and digest == splits.split_hash(parts)
    with pytest.raises(InputError, match="has changed since"):
        splits.thaw(tmp_path, replace(corpus, queries=corpus.queries[1:]))
    content = json.loads((tmp_path / "splits.json").read_text())
    content["splits"]["dev"]["documents"].append(content["splits"]["train"]["documents"].pop())
    content["splits"]["dev"]["families"].append(content["splits"]["train"]["families"].pop())
    (tmp_path / "splits.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match="has been edited"):
        splits.thaw(tmp_path, corpus)
    (tmp_path / "splits.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        splits.thaw(tmp_path, corpus)


def test_every_kind_of_leak_is_named():
    text = "the rent of this flat is due on the first day of every month without further notice or delay"
    train = Corpus(
        "t",
        (Document("a", text), Document("b", "b"), Document("e", "e", family="f")),
        (Query("q", "one?", (Target("a"),)), Query("r", "two?", (Target("a"),))),
    )
    dev = Corpus(
        "d",
        (Document("a", text + " whatsoever"), Document("c", "b"), Document("g", "g", family="f")),
        (Query("q", "three?", (Target("a"),)), Query("s", "two? ", (Target("a"),))),
    )
    found = [problem.message for problem in splits.leaks({"train": train, "dev": dev})]
    assert found == [
        "share the document id 'a'",
        "share the document text 'b'",
        "share the family 'f'",
        "share the near-duplicate 'a'",
        "share the near-duplicate 'b'",
        "share the query id 'q'",
        "share the query text 'two?'",
    ]
