"""The corpus proves its own difficulty, and the proof can fail."""

from __future__ import annotations

import numpy as np
import pytest

from corpora import checks, native
from corpora.documents import Corpus, Document, Query, Target
from corpora.generator import GeneratorSettings, candidates, chance, demo_splits, generate
from corpora.generator.abilities import ABILITIES
from corpora.generator.difficulty import difficulty, reader_finds, table


@pytest.fixture(scope="module")
def corpus():
    return generate(GeneratorSettings(documents=2 * len(ABILITIES) * 12, siblings=12, candidates=60, queries=960), 4)


def leaky(answer: str) -> Corpus:
    """Thirty siblings whose answer sentence is `answer` with the name the query asks for as `{name}`."""
    documents, queries = [], []
    for number in range(30):
        name, head = f"Zeta{number}", f"This lease is held by Zeta{number} alone."
        text = f"{head}\n\n{answer.format(name=name)} It costs {100 + number} dollars."
        start = text.index(answer.format(name=name) if "{name}" in answer else "It costs")
        end = text.index(" It costs") if "{name}" in answer else len(text)
        documents.append(Document(id=f"d{number * 7919 % 1000}", text=text, family="one"))
        queries.append(Query(id=f"q{number}", text=f"What does {name} owe?", ability="entity identity",
                             targets=(Target(documents[-1].id, answers=((start, end),)),)))
    return Corpus("leaky", tuple(documents), tuple(queries))


def test_isolated_sentences_do_no_better_than_luck_and_the_whole_document_tells(corpus):
    rows = difficulty(corpus)
    assert [(row.ability, row.k) for row in rows] == [(ability, k) for k in (1, 10) for ability in ABILITIES]
    for row in rows:
        assert not row.defect, table([row])
        assert row.reader >= 0.95, table([row])
        assert row.queries >= 75
        assert row.fewest_candidates == 60 and row.chance == pytest.approx(row.k / 60)


def test_an_answer_that_names_what_is_asked_for_is_a_defect():
    row, = difficulty(leaky("The bill of {name} is due."), ks=(10,))
    assert row.defect and row.baselines["BM25"].among_candidates > 0.9
    row, = difficulty(leaky("Payment is due."), ks=(10,))
    assert not row.defect


def test_an_encoder_of_isolated_sentences_is_ranked_as_a_plain_loop_ranks_it(corpus):
    small = Corpus("small", corpus.documents[:12], corpus.queries[:40])
    rng = np.random.default_rng(0)
    seen = []

    def encode(texts):
        seen.append(list(texts))
        return rng.standard_normal((len(texts), 4))

    row, = difficulty(small, ks=(10,), encode=encode)
    rng = np.random.default_rng(0)
    documents, queries = (rng.standard_normal((len(texts), 4)) for texts in seen)
    text = {document.id: document.text for document in small.documents}
    hits = 0
    for query, vector in zip(small.queries, queries):
        target = query.targets[0]
        score = documents @ vector
        place = chunk_of(seen[0], small, target.document, text[target.document], target.answers[0])
        hits += sum(score > score[place]) < 10
    assert row.baselines["encoder"].whole_index == pytest.approx(hits / 40)
    assert seen[1] == [query.text for query in small.queries]


def chunk_of(chunks, corpus, document, text, answer):
    """Walks the chunks, which tile the texts in order, to the one that holds the answer's first character."""
    place = 0
    for other in corpus.documents:
        at = 0
        while at < len(other.text):
            if other.id == document and at <= answer[0] < at + len(chunks[place]):
                return place
            at += len(chunks[place])
            place += 1
    raise AssertionError("no chunk holds the answer")


def test_candidates_are_what_a_plain_loop_over_the_answers_of_all_queries_finds():
    everything = generate(GeneratorSettings(documents=48, siblings=4, candidates=20, queries=240), 9)
    few = Corpus("few", everything.documents, everything.queries[::2])
    family_of = {document.id: document.family for document in everything.documents}
    expected = {}
    for query in everything.queries:
        for target in query.targets:
            expected.setdefault(family_of[target.document], set()).update((target.document, span) for span in target.answers)
    assert {family: set(spans) for family, spans in candidates(few).items()} == expected
    assert all(len(spans) == 20 for spans in expected.values())
    assert chance(few, 10) == pytest.approx(0.5) and chance(few, 1) == pytest.approx(0.05) and chance(few, 99) == 1
    assert np.isnan(chance(Corpus("none", everything.documents, ()), 10))


def test_the_reader_reads_texts_not_labels(corpus):
    wrong = tuple(
        Query(id=query.id, text=query.text, ability=query.ability, targets=other.targets)
        for query, other in zip(corpus.queries, corpus.queries[1:] + corpus.queries[:1]))
    assert reader_finds(corpus).mean() >= 0.95
    assert reader_finds(Corpus("wrong", corpus.documents, wrong)).mean() < 0.05


def test_the_native_format_carries_it_without_a_warning(tmp_path):
    for name, corpus in demo_splits(2, "quick").items():
        native.write(corpus, tmp_path / name)
        back = native.read(tmp_path / name)
        assert back.sha256 == corpus.sha256
        assert not checks.problems(back) and not checks.warnings(back)
