from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from corpora import scores
from corpora.chunks import chunk_table
from corpora.errors import InputError
from evaluators.compare import flips
from evaluators.evaluate import evaluate
from evaluators.explain.flipped import Compared, Explainer
from evaluators.explain.retrieved import Texts, setting
from evaluators.judgments import Judgments
from evaluators.tasks import Task
from tests.evaluators.worlds import Given, random_world

FIGURE = "q2c/nDCG@10"


@pytest.fixture(scope="module")
def world():
    return random_world(8, documents=12, queries=30)


@pytest.fixture(scope="module")
def sides(world, tmp_path_factory):
    corpus, queries, vectors = world
    made = []
    for letter, sign in (("A", 1), ("B", -1)):
        runs = tmp_path_factory.mktemp(letter)
        results = evaluate(Given(queries * sign, vectors), [Task("world", corpus)],
                           ("q2c", "q2d", "chunk-size", "storage"), dimensions=(6, 3), chunking="given", runs=runs)
        made.append(Compared.of(letter, f"folder {letter}", results, runs))
    return made


def test_flips_show_what_the_ranking_and_the_judgments_say(world, sides):
    corpus, _, _ = world
    table = chunk_table(corpus, "given")
    ids, judged = table.ids(), Judgments(corpus, table)
    found, total = Explainer([corpus], None, [], 5).explain(*sides, FIGURE, 100)
    expected = flips(*(side.results for side in sides), FIGURE)
    assert total == len(found) == len(expected) > 0
    assert [flip.query for flip in found] == expected["query"].tolist()
    names = [query.id for query in corpus.queries]
    answered = 0
    for flip in found:
        relevant = {ids[place] for place in judged.relevant[names.index(flip.query)].tolist()}
        for side in flip.retrieved.values():
            assert [shown.rank for shown in side] == [1, 2, 3, 4, 5]
            assert [shown.score for shown in side] == sorted((shown.score for shown in side), reverse=True)
            for shown in side:
                assert ("answer" in shown.badges) == (shown.identifier in relevant)
                answered += shown.identifier in relevant
    assert answered


def test_the_text_is_the_chunks(world):
    corpus, _, _ = world
    table, texts = chunk_table(corpus, "given"), Texts(corpus, None)
    for place, identifier in enumerate(table.ids()):
        hit = texts.hit(1, 0.5, identifier, "given", "runs")
        assert hit.document.id == table.document_ids[table.document[place]] and hit.span == tuple(table.span[place])
    with pytest.raises(InputError, match="'z#009999' is no chunk of the corpus 'world' under the chunking given"):
        texts.hit(1, 0.5, "z#009999", "given", "runs")
    with pytest.raises(InputError, match="--tokenizer: the chunks tokens:8 count tokens"):
        texts.hit(1, 0.5, "z#000000", "tokens:8", "runs")


def test_the_setting_of_a_figure(sides):
    results = sides[0].results
    assert setting(results, FIGURE, "world") == ("given", 6, "float32")
    assert setting(results, "storage/nDCG@10[d=3,int8]", "world") == ("given", 3, "int8")
    assert setting(results, "chunk-size/nDCG@10[given]", "world") == ("given", 6, "float32")


def test_without_a_corpus_the_values_and_without_runs_the_answers(world, sides):
    corpus, _, _ = world
    (bare, *_), _ = Explainer([], None, [], 5).explain(*sides, FIGURE, 1)
    assert bare.text is None and bare.asked == () and set(bare.retrieved.values()) == {None}
    assert bare.value_a != bare.value_b
    (flip, *_), _ = Explainer([corpus], None, [], 5).explain(replace(sides[0], runs=None), sides[1], FIGURE, 1)
    assert flip.text == "same text" and flip.asked and flip.retrieved["A"] is None and len(flip.retrieved["B"]) == 5


def test_the_teachers_scores_are_shades_over_the_document(world, sides, tmp_path):
    corpus, _, _ = world
    changed = flips(sides[0].results, sides[1].results, FIGURE)["query"][0]
    query = next(query for query in corpus.queries if query.id == changed)
    target = next(target for target in query.targets if target.grade > 0)
    length = len(corpus.documents[corpus.position[target.document]].text)
    scores.write(tmp_path / "t.parquet", [scores.PairRows(query.id, target.document, np.array([0]), np.array([length]),
                                                          np.array([0.99]))])
    (flip, *_), _ = Explainer([corpus], None, [scores.read(tmp_path / "t.parquet")], 5).explain(*sides, FIGURE, 1)
    heat = {asked.document: asked.heat for asked in flip.asked}
    assert "heat-8" in heat[target.document]
    assert all(found is None for name, found in heat.items() if name != target.document)
