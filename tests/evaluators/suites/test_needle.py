from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers

from corpora.documents import Corpus, Document
from corpora.errors import InputError
from corpora.tokens import Tokenizer
from evaluators.encoder import Encoded
from evaluators.figures import needle_curves
from evaluators.suites.needle import auc, by_depth, measure, summary
from evaluators.suites.needles import BUILT_IN, read


@pytest.fixture(scope="module")
def tokenizer():
    backend = Backend(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    return Tokenizer(backend.to_str().encode())


@pytest.fixture(scope="module")
def filler():
    return Corpus("filler", tuple(Document(str(place), " ".join(f"Nothing happens on day {place} {day}." for day in range(40)))
                                  for place in range(4)))


class Bag:
    """Words of a fixed list, counted: a needle's words stay visible, and fade as the haystack grows."""

    name, quantiser, contextual, tokenizer = "bag", "none", True, None
    words = sorted({word.strip(".,:?").lower() for needle in BUILT_IN
                    for text in (needle.default, needle.literal) for word in text.split()} | {"nothing", "happens"})
    dimension = len(words)

    def queries(self, texts):
        found = [[word.strip(".,:?").lower() for word in text.split()] for text in texts]
        return np.array([[words.count(word) for word in self.words] for words in found], np.float32)

    def documents(self, corpus, table):
        return Encoded(self.queries([document.text for document in corpus.documents]), 0, 0, len(table), len(table))


@pytest.fixture(scope="module")
def frame(tokenizer, filler):
    return measure(Bag(), tokenizer, filler, 0, lengths=(64, 256), depths=(0.0, 0.5, 1.0))


def test_haystacks_have_their_length_with_the_needle(frame):
    assert (frame.tokens == frame.length).all()
    assert len(frame) == 8 * 2 * 2 * 2 * 2 * 3


def test_a_needle_is_seen_and_fades(frame):
    literal = summary(frame).query("question == 'literal' and order == 'default' and not expanded").set_index("length")
    assert (literal.preferred > 0.9).all() and (literal.auc > 0.9).all()
    assert literal.normalised[64] > literal.normalised[256] > literal.chance[256]
    assert (literal.questions == len(BUILT_IN)).all()


def test_figures_by_hand():
    frame = pd.DataFrame({
        "needle": "n", "question": "literal", "order": "default", "expanded": False, "length": 8,
        "depth": [0.0, 0.5, 1.0], "similarity": [0.8, 0.6, 0.4], "bare": [0.1, 0.6, 0.5], "normalised": [1.0, 0.75, 0.5],
        "chance": [0.125, 0.75, 0.625]})
    row = summary(frame).iloc[0]
    assert row.preferred == pytest.approx((1 + 0.5 + 0) / 3)
    assert row.auc == pytest.approx((3 + 2.5 + 1) / 9)
    assert row.separation == pytest.approx(0.2)
    assert row.cohens_d == pytest.approx(0.2 / np.sqrt((0.04 + np.var([0.1, 0.6, 0.5], ddof=1)) / 2))
    assert (row.correlation, row.slope) == (pytest.approx(-1), pytest.approx(-0.5))
    assert by_depth(frame, 2).normalised.tolist() == pytest.approx([1.0, 0.625])
    assert auc(np.array([1.0]), np.array([1.0])) == 0.5


def test_same_seed_same_haystacks(frame, tokenizer, filler):
    again = measure(Bag(), tokenizer, filler, 0, lengths=(64, 256), depths=(0.0, 0.5, 1.0))
    assert again.equals(frame)
    assert not measure(Bag(), tokenizer, filler, 1, lengths=(64, 256), depths=(0.0, 0.5, 1.0)).equals(frame)


def test_too_little_filler_is_refused(tokenizer, filler):
    with pytest.raises(InputError):
        measure(Bag(), tokenizer, filler, 0, lengths=(8192,))


def test_needles_of_ones_own(tmp_path):
    good = {"id": "a", "category": "c", "default": "d", "inverted": "i", "literal": "l", "one_hop": "o"}
    (tmp_path / "n.jsonl").write_text(json.dumps(good) + "\n\n" + json.dumps(good | {"literal_expansion": "x"}) + "\n")
    assert [needle.literal_expansion for needle in read(tmp_path / "n.jsonl")] == ["", "x"]
    (tmp_path / "n.jsonl").write_text('{"id": "a"}\n{\n' + json.dumps(good | {"more": "x"}))
    with pytest.raises(InputError) as caught:
        read(tmp_path / "n.jsonl")
    assert len(caught.value.problems) == 3


def test_curves(frame):
    axes = needle_curves({"bag": summary(frame)}, "auc").axes[0]
    assert len(axes.lines) == 3
