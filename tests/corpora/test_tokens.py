"""Token offsets: whole texts, no specials, Python string positions."""

from __future__ import annotations

import pickle

import pytest

from corpora.errors import InputError
from corpora.tokens import Tokenizer
from tests.corpora import tiny


def test_nothing_is_cut_padded_or_added():
    ids, offsets = tiny.wordpiece().encode(["the rent " * 30])[0]
    assert len(ids) == len(offsets) == 60
    assert ids.dtype == offsets.dtype == "int32"


def test_special_tokens_in_a_text_are_plain_text():
    tokenizer = tiny.wordpiece()
    ids, offsets = tokenizer.encode(["a [SEP] b"])[0]
    assert tokenizer.backend.token_to_id("[SEP]") not in ids.tolist()
    assert len(ids) > 3


def test_offsets_are_code_points():
    text = "😀 the e\u0301 rent"
    _, offsets = tiny.wordpiece().encode([text])[0]
    pieces = [text[start:end] for start, end in offsets]
    assert pieces[0] == "😀" and pieces[1] == "the" and pieces[-1] == "rent"


@pytest.mark.parametrize("build", [tiny.wordpiece, tiny.bytelevel, tiny.metaspace])
def test_no_token_begins_with_the_space_before_its_word(build):
    text = "the rent. the 😀 rent"
    _, offsets = build().encode([text])[0]
    starts = offsets[:, 0].tolist()
    assert starts == sorted(starts)
    for start, end in offsets.tolist():
        assert not text[start].isspace() or text[start:end].isspace()


def test_many_texts_come_back_in_order_and_pickled():
    tokenizer = pickle.loads(pickle.dumps(tiny.wordpiece()))
    texts = ["the " * count for count in range(1, 40)] + ["x" * 1_100_000, "rent", ""]
    lengths = [len(ids) for ids, _ in tokenizer.encode(texts)]
    assert lengths[:39] == list(range(1, 40))
    assert lengths[-2:] == [1, 0]
    assert tokenizer.sha256 == tiny.wordpiece().sha256


def test_a_folder_without_tokenizer_is_named(tmp_path):
    with pytest.raises(InputError, match="tokenizer.json"):
        Tokenizer.from_folder(tmp_path)
