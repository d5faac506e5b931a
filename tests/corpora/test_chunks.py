"""The chunk table: who owns which token, what joins what, and ids that never move."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.chunkings import Chunking
from corpora.chunks import chunk_table, trec_id
from corpora.documents import Corpus, Document
from corpora.errors import InputError
from tests.corpora import tiny


def table_of(text, chunking, tokenizer=None, chunks=None):
    corpus = Corpus("c", (Document("a", text, chunks=chunks),))
    encodings = tokenizer.encode([text]) if tokenizer else None
    return chunk_table(corpus, chunking, encodings)


def test_ids_are_percent_encoded_and_numbered():
    corpus = Corpus("c", (Document("a b%\u00a0", "One. Two."), Document("7", "Three.")))
    table = chunk_table(corpus, "sentence")
    assert table.ids() == ["a%20b%25%C2%A0#000000", "a%20b%25%C2%A0#000001", "7#000000"]
    assert table.indptr.tolist() == [0, 2, 3]
    assert table.document.tolist() == [0, 0, 1]
    assert table.tokens is None
    assert trec_id("plain#7/é") == "plain#7/é"


def test_chunks_without_tokens_join_and_keep_numbers():
    text = "\u200b\u200bthe rent\u200bthe"
    chunks = ((0, 1), (1, 2), (2, 10), (10, 11), (11, 14))
    table = table_of(text, "given", tiny.wordpiece(), chunks)
    assert table.number.tolist() == [2, 4]
    assert table.span.tolist() == [[0, 11], [11, 14]]
    assert table.ids() == ["a#000002", "a#000004"]


def test_a_document_without_tokens_is_one_empty_chunk():
    table = table_of("\u200b\u200b", "given", tiny.wordpiece(), ((0, 1), (1, 2)))
    assert table.number.tolist() == [0] and table.span.tolist() == [[0, 2]] and table.tokens.tolist() == [[0, 0]]


def test_white_space_between_given_chunks_goes_to_the_preceding_one():
    text = "the rent\n\nlease x flat  "
    table = table_of(text, "given", tiny.wordpiece(), ((0, 8), (10, 15), (18, 22)))
    assert table.span.tolist() == [[0, 10], [10, 15], [18, 24]]
    assert table.context_only == 1
    assert table.tokens.tolist() == [[0, 2], [2, 3], [4, 5]]


def test_overlapping_given_chunks_share_tokens():
    table = table_of("the rent the lease", "given", tiny.wordpiece(), ((0, 12), (4, 18)))
    assert table.tokens.tolist() == [[0, 3], [1, 4]]
    assert table.context_only == 0


def test_missing_given_chunks_are_an_error_that_names_every_document():
    corpus = Corpus("c", (Document("a", "x"), Document("b", "y", chunks=((0, 1),)), Document("d", "z")))
    with pytest.raises(InputError) as caught:
        chunk_table(corpus, "given")
    assert [problem.where for problem in caught.value.problems] == ["c: document 'a'", "c: document 'd'"]


TEXTS = st.text(st.sampled_from("the rn.!? \n\r\u200b😀。"), min_size=1, max_size=50)


@settings(max_examples=200, deadline=None)
@given(
    TEXTS,
    st.sampled_from(["sentence", "paragraph", "tokens:3", "tokens:4/0.5", "whole"]),
    st.sampled_from([tiny.wordpiece(), tiny.bytelevel(), tiny.metaspace()]),
)
def test_a_token_belongs_to_each_chunk_that_holds_its_first_character(text, spelling, tokenizer):
    encodings = tokenizer.encode([text])
    starts = encodings[0][1][:, 0].tolist()
    table = chunk_table(Corpus("c", (Document("a", text),)), spelling, encodings)
    for (start, end), (first, last) in zip(table.span.tolist(), table.tokens.tolist(), strict=True):
        assert list(range(first, last)) == [token for token, place in enumerate(starts) if start <= place < end]
    assert table.span[0, 0] == 0 and table.span[-1, 1] == len(text)
    assert table.context_only == 0
    if starts:
        assert (table.tokens[:, 0] < table.tokens[:, 1]).all()
    if "/" not in spelling:
        assert (table.span[1:, 0] == table.span[:-1, 1]).all()


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.data())
def test_given_chunks_in_any_order_against_a_loop(text, data):
    places = st.integers(0, len(text) - 1)
    chunks = tuple(
        (start, data.draw(st.integers(start + 1, len(text))))
        for start in data.draw(st.lists(places, min_size=1, max_size=5))
    )
    tokenizer = tiny.wordpiece()
    starts = tokenizer.encode([text])[0][1][:, 0].tolist()
    table = table_of(text, Chunking.parse("given"), tokenizer, chunks)
    covered = {place for chunk in chunks for place in range(*chunk)}
    assert table.context_only == sum(place not in covered for place in starts)
    owned = [[token for token, place in enumerate(starts) if start <= place < end] for start, end in chunks]
    if any(owned):
        assert table.number.tolist() == [number for number, tokens in enumerate(owned) if tokens]
        assert [list(range(*tokens)) for tokens in table.tokens] == [tokens for tokens in owned if tokens]
    assert len(np.unique(table.number)) == len(table)
