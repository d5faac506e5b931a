"""Late chunking against plain loops: one pass where a document fits, overlapping windows where it does not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from corpora.chunks import chunk_table
from corpora.documents import Corpus, Document
from evaluators.encoder import Encoder, encode_documents
from trainables.late import LateEncoder, late_windows
from trainables.layouts import Frame

SHORT, LONG = "the cat sat on a mat. the dog ran away.", "the tenant pays rent for repairs. a dog sat on him! " * 9


@pytest.fixture(scope="module")
def encoder(tiny_encoder):
    return LateEncoder.load(tiny_encoder)


def encoded(encoder, *texts, chunking="sentence"):
    corpus = Corpus("c", tuple(Document(f"d{place}", text) for place, text in enumerate(texts)))
    table = chunk_table(corpus, chunking, encoder.tokenizer.encode(texts))
    return encode_documents(encoder, corpus, table), table


def states(encoder, ids):
    with torch.no_grad():
        return encoder.encoder(input_ids=torch.tensor([[2, *ids.tolist(), 3]])).last_hidden_state[0, 1:-1].numpy()


def test_a_chunk_is_the_mean_of_its_tokens_in_one_pass_over_the_document(encoder):
    assert isinstance(encoder, Encoder) and encoder.contextual
    found, table = encoded(encoder, SHORT)
    whole = states(encoder, encoder.tokenizer.encode([SHORT])[0][0])
    for row, (first, last) in enumerate(table.tokens.tolist()):
        np.testing.assert_allclose(found.vectors[row], whole[first:last].mean(axis=0), atol=1e-5)


@pytest.mark.parametrize("chunking", ["sentence", "tokens:8/0.5", "whole"])
def test_long_documents_give_each_token_the_window_where_it_is_farthest_from_an_edge(encoder, chunking):
    found, table = encoded(encoder, LONG, chunking=chunking)
    ids = encoder.tokenizer.encode([LONG])[0][0]
    assert found.tokens_in == found.tokens_used == len(ids) > 100
    windows = late_windows(ids, np.array([[0, len(ids)]]), encoder.frame, 0)
    best, state = np.full(len(ids), -1.0), np.zeros((len(ids), encoder.dimension), np.float32)
    for window in windows:
        own = window.source[window.source >= 0]
        inside = states(encoder, ids[own])
        for place, token in enumerate(own.tolist()):
            left = np.inf if own[0] == 0 else place
            right = np.inf if own[-1] == len(ids) - 1 else len(own) - 1 - place
            if min(left, right) > best[token]:
                best[token], state[token] = min(left, right), inside[place]
    assert np.isfinite(best[1:-1]).any() and len(windows) > 5
    for row, (first, last) in enumerate(table.tokens.tolist()):
        np.testing.assert_allclose(found.vectors[row], state[first:last].mean(axis=0), atol=1e-5)


@pytest.mark.parametrize("tokens", [1, 21, 22, 23, 38, 39, 40, 200])
def test_windows_cover_every_token_once_and_overlap(tokens):
    frame = Frame((2,), (3,), -1, 0, 24)
    windows = late_windows(np.arange(tokens), np.array([[0, tokens]]), frame, 5)
    pooled = np.concatenate([window.source[window.positions] for window in windows])
    assert sorted(pooled.tolist()) == list(range(tokens))
    assert all(len(window.ids) <= 24 and (window.rows == 5).all() for window in windows)
    ranges = [window.source[window.source >= 0] for window in windows]
    assert all(one[-1] >= other[0] for one, other in zip(ranges, ranges[1:]))
    assert late_windows(np.arange(0), np.empty((0, 2), int), frame, 0) == []


def test_the_document_is_seen(encoder):
    one, _ = encoded(encoder, "the cat sat. who pays rent?")
    other, _ = encoded(encoder, "a dog ran away. who pays rent?")
    assert np.abs(one.vectors[1] - other.vectors[1]).max() > 1e-3
