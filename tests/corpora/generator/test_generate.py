"""The built-in corpus: labels are true, splits are disjoint, the same seed gives the same bytes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings as hypothesis_settings, strategies as st
from pydantic import ValidationError

from corpora.generator import GeneratorSettings, candidates, demo_splits, generate
from corpora.generator.abilities import ABILITIES, CROSS_LINGUAL
from corpora.generator.registry import DOMAINS, tables

SMALL = GeneratorSettings(documents=6 * 24, siblings=6, candidates=24, queries=96, length=200)


def spans_of(target):
    yield from target.answers
    for group in target.evidence:
        for alternative in group:
            yield from alternative


def check_labels(corpus):
    for query in corpus.queries:
        for target in query.targets:
            text = corpus.documents[corpus.position[target.document]].text
            assert target.answers and target.evidence
            for start, end in spans_of(target):
                assert 0 <= start < end <= len(text)
                assert text[start:end] == text[start:end].strip()
            assert target.quotes == tuple(text[start:end] for start, end in target.answers)
            for group in target.evidence:
                assert any(all(end <= a or b <= start for start, end in alternative for a, b in target.answers)
                           for alternative in group), "every alternative touches an answer"


@hypothesis_settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**31), st.integers(2, 7), st.integers(2, 5), st.integers(1, 900), st.integers(1, 3))
def test_labels_are_true_whatever_is_asked_for(seed, siblings, items, length, rounds):
    documents = siblings * rounds * len(ABILITIES)
    corpus = generate(GeneratorSettings(documents=documents, siblings=siblings, candidates=siblings * items,
                                        length=length), seed)
    check_labels(corpus)
    texts = [document.text for document in corpus.documents]
    assert len(texts) == documents == len(set(texts))
    assert len({document.id for document in corpus.documents}) == documents
    assert len({query.id for query in corpus.queries}) == len(corpus.queries) == documents
    assert {query.ability for query in corpus.queries} == set(ABILITIES)
    assert len({(t.document, t.answers) for q in corpus.queries for t in q.targets}) == documents, "asked twice"


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_ability_writes_in_every_domain(domain):
    abilities = tuple(ability for ability in ABILITIES if tables(ability, (domain,)))
    assert len(abilities) >= 11
    corpus = generate(GeneratorSettings(documents=2 * len(abilities), siblings=2, candidates=10, domains=(domain,),
                                        abilities=abilities), 5)
    check_labels(corpus)
    assert {document.domain for document in corpus.documents} == {domain}
    assert {query.ability for query in corpus.queries} == set(abilities)


def test_cross_lingual_documents_come_in_four_languages_or_more_and_their_queries_in_english():
    corpus = generate(GeneratorSettings(documents=24, siblings=2, candidates=10, abilities=(CROSS_LINGUAL,)), 5)
    assert len({document.language for document in corpus.documents} - {"en"}) >= 4
    asked = {ask.split()[0] for table in DOMAINS.values() for attribute in table.attributes for ask in attribute.asks}
    assert {query.text.split()[0] for query in corpus.queries} <= asked


@pytest.mark.parametrize("length", [400, 3000])
def test_documents_have_the_length_asked_for(length):
    corpus = generate(SMALL.model_copy(update={"length": length}), 1)
    mean = sum(len(document.text.split()) * 1.3 for document in corpus.documents) / len(corpus.documents)
    assert abs(mean - length) < 0.05 * length


def test_queries_name_what_tells_the_answer_apart_and_the_answer_does_not():
    corpus = generate(SMALL, 2)
    for query in corpus.queries:
        answer = query.targets[0].quotes[0]
        names = {word for word in query.text.split()[1:] if word[0].isupper()}
        assert names and not names & set(answer.replace(",", "").replace(".", "").split())


@pytest.mark.parametrize("size", ["demo", "quick"])
def test_demo_splits_are_disjoint_and_have_enough_candidates(size):
    splits = demo_splits(3, size)
    assert list(splits) == ["train", "dev", "confirm", "test"]
    families, words = [], []
    for corpus in splits.values():
        check_labels(corpus)
        found = candidates(corpus)
        assert set(found) == {document.family for document in corpus.documents}
        assert all(len(spans) == len(set(spans)) >= 50 for spans in found.values())
        families += found
        names = {name for query in corpus.queries for name in capitalised(query.text)}
        words.append(names)
    assert len(families) == len(set(families))
    for place, names in enumerate(words):
        assert names and not any(names & others for others in words[:place]), "a name in two splits"
    ids = [document.id for corpus in splits.values() for document in corpus.documents]
    assert len(ids) == len(set(ids))
    assert len({document.family for document in splits["confirm"].documents}) >= 20


def capitalised(text):
    """The runs of two or more capitalised words after the first word."""
    run, words = [], text.rstrip("?").split()[1:] + ["end"]
    for word in words:
        if word[0].isupper():
            run.append(word)
        else:
            if len(run) > 1:
                yield " ".join(run)
            run = []


def test_the_same_seed_gives_the_same_bytes_in_any_process():
    code = ("from corpora.generator import *;"
            "print(generate(GeneratorSettings(documents=72, siblings=6, candidates=24), 11).sha256)")
    hashes = {subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": str(seed)},
                             capture_output=True, text=True, check=True).stdout for seed in (1, 2)}
    assert len(hashes) == 1
    assert generate(SMALL, 1).sha256 != generate(SMALL, 2).sha256


@pytest.mark.parametrize("wrong, says", [
    ({"documents": 5}, "do not fill one family"),
    ({"candidates": 1000}, "ask for 100 siblings or more"),
    ({"abilities": ("telepathy",)}, "telepathy is not allowed"),
    ({"domains": ()}, "an empty or repeating list"),
    ({"domains": ("filings",)}, "add one of leases, manuals, minutes"),
    ({"queries": 10**6}, "answer sentences"),
])
def test_settings_that_cannot_be_met_are_refused(wrong, says):
    with pytest.raises(ValidationError, match=says):
        GeneratorSettings(**wrong)
