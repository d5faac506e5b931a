"""Figures of a corpus against plain loops, and the figure itself."""

from __future__ import annotations

import numpy as np

from corpora import native
from corpora.documents import Corpus, Document, Query, Target
from corpora.statistics import draw, statistics
from tests.corpora import tiny


def corpus_of():
    words = "rent " * 20
    documents = (Document("a", words, domain="x", family="f"), Document("b", words + "the", domain="y", family="f"))
    queries = (
        Query("p", "?", (Target("a", answers=((0, 4),)),), ability="one"),
        Query("q", "?", (Target("a", answers=((15, 24),)),), ability="one"),
        Query("r", "?", (Target("a", answers=((15, 24), (40, 44))), Target("b", evidence=((((0, 4),),),)))),
        Query("s", "?", (Target("b"),)),
    )
    return Corpus("c", documents, queries)


def test_figures_against_counting_by_hand():
    found = statistics(corpus_of(), tiny.wordpiece(), sizes=(4, 20))
    assert (found.documents, found.queries, found.without_answers, found.families, found.largest_family) == (
        2,
        4,
        1,
        1,
        2,
    )
    assert found.lengths["tokens a document"].tolist() == [20, 21]
    assert found.lengths["answers a query"].tolist() == [1, 1, 2, 0]
    assert found.lengths["evidence groups a query"].tolist() == [0, 0, 1, 0]
    assert found.kinds == {"languages": {}, "domains": {"x": 1, "y": 1}, "abilities": {"one": 2}}
    assert found.cut == {"tokens:4": 1 / 3, "tokens:20": 0.0}
    assert found.json()["lengths"]["characters an answer"] == {
        "total": 26,
        "smallest": 4,
        "median": 6.5,
        "mean": 6.5,
        "largest": 9,
    }
    assert "33.3% at tokens:4" in "\n".join(found.lines())


def test_cut_answers_of_golden_by_a_loop(golden):
    corpus = native.read(golden)
    tokenizer = tiny.wordpiece()
    found = statistics(corpus, tokenizer, sizes=(3,))
    asked = cut = 0
    for query in corpus.queries:
        whole = []
        for target in query.targets:
            text = corpus.documents[corpus.position[target.document]].text
            starts = tokenizer.encode([text])[0][1][:, 0]
            boundaries = [0, *starts[3::3].tolist(), len(text)]
            for start, end in target.answers:
                piece = text[start:end]
                first, last = start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
                whole.append(
                    any(low <= first and last <= high for low, high in zip(boundaries, boundaries[1:], strict=False))
                )
        asked += bool(whole)
        cut += bool(whole) and not any(whole)
    assert found.cut == {"tokens:3": cut / asked} and cut > 0


def test_without_a_tokenizer_nothing_is_said_of_tokens():
    found = statistics(corpus_of())
    assert not found.cut and "tokens a document" not in found.lengths


def test_the_figure_is_drawn(tmp_path):
    draw(statistics(corpus_of(), tiny.wordpiece()), tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    empty = statistics(Corpus("none", ()))
    assert empty.json()["lengths"]["answers a query"] == {"total": 0} and np.isfinite(empty.largest_family)
