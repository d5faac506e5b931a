"""The labels' teacher: near 1 inside an answer, leaking as stated, noisy, nothing without answers."""

from __future__ import annotations

import numpy as np
import pytest

from corpora import scores
from corpora.documents import Corpus, Document, Query, Target
from trainables.recipe import TeacherConfig
from trainables.teachers import score
from trainables.teachers.spans import leaked, words_of

TEXT = "one two  three four\nfive six"


def corpus(*targets: Target) -> Corpus:
    return Corpus("c", (Document("d", TEXT), Document("e", TEXT)), (Query("q", "what?", targets),))


def test_words_are_what_white_space_leaves():
    words = words_of(TEXT)
    assert [TEXT[a:b] for a, b in words.tolist()] == TEXT.split()
    assert words_of(" ").shape == (0, 2)


@pytest.mark.parametrize("answers", [[(9, 14)], [(5, 6)], [(4, 14), (25, 28)], [(0, len(TEXT))]])
@pytest.mark.parametrize("smoothing", [0.0, 0.3, 1.0])
def test_scores_fall_by_the_smoothing_with_each_word(answers, smoothing):
    words = words_of(TEXT)
    inside = [place for place, (a, b) in enumerate(words.tolist()) if any(a < end and start < b for start, end in answers)]
    slow = [smoothing ** min(abs(place - hit) for hit in inside) for place in range(len(words))]
    np.testing.assert_allclose(leaked(words, answers, smoothing), slow)


def test_noise_is_seeded_clipped_and_of_its_size(tmp_path):
    asked = corpus(Target("d", answers=((9, 14),)))
    rows = {}
    for seed in (0, 1):
        path = score(TeacherConfig(noise=0.5, seed=seed), asked, tmp_path)
        rows[seed] = scores.read(path).rows("q", "d")[2]
        assert ((rows[seed] >= 0) & (rows[seed] <= 1)).all()
    assert not np.array_equal(rows[0], rows[1])
    again = scores.read(score(TeacherConfig(noise=0.5, seed=0), asked, tmp_path / "other")).rows("q", "d")[2]
    assert np.array_equal(rows[0], again)


def test_only_targets_with_answers_get_rows(tmp_path):
    asked = corpus(Target("d", answers=((9, 14),)), Target("e"))
    found = scores.read(score(TeacherConfig(noise=0), asked, tmp_path))
    assert len(found) == 1 and found.rows("q", "e") is None
    starts, ends, values = found.rows("q", "d")
    assert TEXT[starts[2] : ends[2]] == "three" and values[2] == 1 and values[1] == pytest.approx(0.1)
