"""Chunkings: one spelling each, and spans that tile whatever the text."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.chunkings import Chunking
from corpora.documents import Document
from corpora.errors import InputError

ALPHABET = "abM.!? \n\r\t\"'()。！؟é\u0301😀👍🏽\u200d1,\u00a0\u2003\u3000\u2028\u2029|เก中文"
TEXTS = st.text(st.sampled_from(ALPHABET), min_size=1, max_size=60) | st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30
)
LANGUAGES = st.sampled_from([None, "en", "zh", "ar", "th", "de", "ja", "pt_BR", "klingon"])


@pytest.mark.parametrize("spelling", ["sentence", "paragraph", "given", "whole", "tokens:256", "tokens:64/0.25"])
def test_a_spelling_comes_back(spelling):
    assert str(Chunking.parse(spelling)) == spelling


@pytest.mark.parametrize(
    "wrong, nearest",
    [
        ("sentences", "sentence"),
        ("Paragraph", "paragraph"),
        ("tokens:0", "tokens:1"),
        ("tokens: 256", "tokens:256"),
        ("tokens:64/.50", "tokens:64/0.5"),
        ("tokens:64/0.0", "tokens:64"),
        ("tokens:64/1.5", "tokens:64"),
        ("256", "tokens:256"),
        ("tokens:064", "tokens:64"),
        ("tokens:-5", "tokens:5"),
    ],
)
def test_a_wrong_spelling_names_rule_value_and_the_nearest(wrong, nearest):
    with pytest.raises(ValueError) as caught:
        Chunking.parse(wrong)
    assert "a chunking is" in str(caught.value)
    assert repr(wrong) in str(caught.value)
    assert str(caught.value).endswith(f"`{nearest}`")


def test_the_step_is_exact():
    assert Chunking.parse("tokens:100/0.29").step == 71
    assert Chunking.parse("tokens:256/0.2").step == 205
    assert Chunking.parse("tokens:3/0.99").step == 1


@settings(max_examples=300, deadline=None)
@given(TEXTS, LANGUAGES, st.sampled_from(["sentence", "paragraph", "whole"]))
def test_spans_tile_the_text(text, language, spelling):
    spans = Chunking.parse(spelling).spans(Document("a", text, language=language))
    assert "".join(text[start:end] for start, end in spans) == text
    assert (spans[:, 0] < spans[:, 1]).all()
    if text.strip():
        assert all(text[start:end].strip() for start, end in spans)


@pytest.mark.parametrize(
    "language, text, expected",
    [
        (
            "en",
            "Hello 😀 wörld. Dr. Smith left.\r\n\r\nNext page.",
            ["Hello 😀 wörld. ", "Dr. Smith left.\r\n\r\n", "Next page."],
        ),
        ("en", "  \n First. Second.\n\n  \n", ["  \n First. ", "Second.\n\n  \n"]),
        ("en", "Cafe\u0301 closed. 👩‍👩‍👧 came! End.", ["Cafe\u0301 closed. ", "👩‍👩‍👧 came! ", "End."]),
        ("en", "Page 3\u00a0. Mr.\u2003B. left. Bye.", None),
        ("zh", "你好。世界！很好？是的。", ["你好。", "世界！", "很好？", "是的。"]),
        ("ar", "مرحبا بالعالم. كيف حالك؟ أنا بخير.", ["مرحبا بالعالم. ", "كيف حالك؟ ", "أنا بخير."]),
        ("th", "สวัสดีชาวโลก ฉันสบายดี", ["สวัสดีชาวโลก ฉันสบายดี"]),
        ("en-GB", "One\tcell\t2.5\nTwo. Three.", ["One\tcell\t2.5\nTwo. ", "Three."]),
    ],
)
def test_sentences_of_many_languages(language, text, expected):
    spans = Chunking.parse("sentence").spans(Document("a", text, language=language))
    pieces = [text[start:end] for start, end in spans]
    assert "".join(pieces) == text
    if expected:
        assert pieces == expected


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_paragraphs_end_at_blank_lines(text):
    spans = Chunking.parse("paragraph").spans(Document("a", text))
    lines = [line for line in re.split(r"\r\n|\r|\n", text.replace("\u2029", "\n\n"))]
    loop = 0
    inside = False
    for line in lines:
        if line.strip():
            loop += not inside
            inside = True
        else:
            inside = False
    assert len(spans) == max(1, loop)


def windows_by_loop(tokens: int, window: int, step: int) -> list[tuple[int, int]]:
    found, first = [], 0
    while True:
        found.append((first, min(first + window, tokens)))
        if first + window >= tokens:
            return found
        first += step


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 60), st.integers(1, 20), st.sampled_from(["", "/0.2", "/0.5", "/0.9"]))
def test_token_windows(tokens, window, share):
    chunking = Chunking.parse(f"tokens:{window}{share}")
    text = "ab " * tokens
    offsets = np.array([(3 * token, 3 * token + 2) for token in range(tokens)], np.int32)
    spans = chunking.spans(Document("a", text), offsets)
    expected = [(3 * first, 3 * last) for first, last in windows_by_loop(tokens, window, chunking.step)]
    assert [tuple(span) for span in spans.tolist()] == expected
    if not share:
        assert "".join(text[start:end] for start, end in spans) == text


def test_tokens_that_share_a_character_stay_together():
    offsets = np.array([(0, 1), (1, 2), (1, 2), (1, 2), (2, 3)], np.int32)
    spans = Chunking.parse("tokens:2").spans(Document("a", "x😀y"), offsets)
    assert spans.tolist() == [[0, 1], [1, 2], [2, 3]]
    spans = Chunking.parse("tokens:1").spans(Document("a", "x😀y"), offsets)
    assert spans.tolist() == [[0, 1], [1, 2], [2, 3]]


def test_a_text_without_tokens_is_one_chunk():
    spans = Chunking.parse("tokens:4").spans(Document("a", "\u200b "), np.empty((0, 2), np.int32))
    assert spans.tolist() == [[0, 2]]


def test_given_chunks_are_the_publishers():
    chunking = Chunking.parse("given")
    assert chunking.spans(Document("a", "abcdef", chunks=((0, 4), (2, 6)))).tolist() == [[0, 4], [2, 6]]
    with pytest.raises(InputError, match="'a'"):
        chunking.spans(Document("a", "abcdef"))
