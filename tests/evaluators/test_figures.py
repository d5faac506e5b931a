from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from corpora.documents import Corpus, Document, Query, Target
from evaluators import figures
from evaluators.encoder import Encoded
from evaluators.evaluate import evaluate
from evaluators.tasks import Task

SENTENCES = [f"Sentence {place} speaks of thing {place}. " for place in range(30)]


class Words:
    """Hashes nothing: a vector counts letters, enough for values that differ."""

    quantiser, contextual, dimension = "none", True, 26

    def __init__(self, name, tokenizer):
        self.name, self.tokenizer = name, tokenizer

    def queries(self, texts):
        return np.array([[text.lower().count(chr(97 + place)) + len(text) % (place + 2) for place in range(26)]
                         for text in texts], np.float32)

    def documents(self, corpus, table):
        texts = [corpus.documents[document].text[start:end]
                 for document, (start, end) in zip(table.document, table.span, strict=True)]
        return Encoded(self.queries(texts), 0, 0, len(table), len(table))


@pytest.fixture(scope="module")
def results():
    from tokenizers import Tokenizer as Backend
    from tokenizers import models, pre_tokenizers

    from corpora.tokens import Tokenizer

    backend = Backend(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = Tokenizer(backend.to_str().encode())
    text = "".join(SENTENCES)
    documents = tuple(Document(f"d{place}", text + f"Number {place}.") for place in range(3))
    queries = tuple(Query(f"q{place}", f"thing {place}", (Target(f"d{place % 3}", 1, ((0, 10),)),),
                          ability=("order", "aliases")[place % 2]) for place in range(4))
    task = Task("t", Corpus("t", documents, queries), domain="law")
    return [evaluate(Words(name, tokenizer), [task], dimensions=(26, 8), chunk_sizes=(8, 16, 32))
            for name in ("a", "b")]


def test_the_curve_shows_the_values(results):
    axes = figures.chunk_size_curve(results).axes[0]
    x, y = axes.lines[0].get_data()
    assert list(x) == [8, 16, 32]
    headline = results[0].figures()
    assert list(y) == pytest.approx([headline[f"chunk-size/nDCG@10[tokens:{size}]"] for size in (8, 16, 32)])
    assert headline["chunk-size/drop"] == pytest.approx(100 * (y[0] - y[2]))
    assert headline["chunk-size/slope"] == pytest.approx(np.polyfit(np.log2(x), y, 1)[0])


def test_lines_differ_without_colour(results):
    axes = figures.storage_frontier(results).axes[0]
    looks = [(line.get_marker(), line.get_linestyle()) for line in axes.lines]
    assert len(looks) == 6 and len(set(looks)) == 6


def test_encoders_differ_without_colour_at_every_k(results):
    axes = figures.context_at_k(results).axes[0]
    looks = [(line.get_marker(), line.get_linestyle(), line.get_fillstyle()) for line in axes.lines]
    assert len(looks) == 2 * 2 and len(set(looks)) == len(looks)


def test_a_forest_shows_each_difference_and_fills_what_can_be_told():
    rows = pd.DataFrame({"figure": ["q2c/nDCG@10", "q2d/nDCG@10"], "task": "t", "a": "A", "b": "B",
                         "difference": [0.1, -0.2], "low": [-0.1, -0.3], "high": [0.3, -0.1],
                         "verdict": ["no difference can be told", "A better"]})
    axes = figures.difference_forest(rows).axes[0]
    whiskers, hollow, filled = axes.collections
    assert [segment[:, 0].tolist() for segment in whiskers.get_segments()] == [[-0.1, 0.3], [-0.3, -0.1]]
    assert hollow.get_offsets()[0, 0] == 0.1 and filled.get_offsets()[0, 0] == -0.2
    assert hollow.get_facecolor()[0, :3].tolist() == [1, 1, 1] and filled.get_facecolor()[0, :3].tolist() != [1, 1, 1]


def test_bars_of_tasks_end_with_their_mean(results):
    heights = [bar.get_height() for bar in figures.task_bars(results[:1], "q2d").axes[0].patches]
    assert heights == pytest.approx([results[0].figures()["q2d/nDCG@10"]] * 2)


def test_points_of_a_sweep():
    points = pd.DataFrame({"label": ["w=0", "w=1", "bm25"], "document": [0.9, 0.5, 0.2], "answer": [0.1, 0.8, 0.3],
                           "kind": ["trial", "trial", "baseline"], "weight": [0.0, 1.0, np.nan]})
    axes = figures.document_against_answer(points, shade="weight").axes[0]
    assert [len(each.get_offsets()) for each in axes.collections] == [2, 1]
