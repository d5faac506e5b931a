"""The adapter against the library itself; what the library would cut silently is read in pieces, or fails."""

from __future__ import annotations

import numpy as np
import pytest

from corpora.chunks import chunk_table
from corpora.documents import Corpus, Document
from corpora.errors import InputError
from evaluators.encoder import Encoder, Truncated, encode_documents
from trainables.sentence_transformer import SentenceTransformerEncoder, _ranges

TEXTS = ("The cat sat on a mat. The dog ran away from him!", "Who pays the rent? The tenant pays.")
LONG = "the tenant pays rent for repairs . a dog sat on him ! " * 6


@pytest.fixture(scope="module")
def folder(tiny_encoder, tmp_path_factory):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    transformer = Transformer(str(tiny_encoder))
    model = SentenceTransformer(modules=[transformer, Pooling(16, "mean"), Normalize()], device="cpu",
                                prompts={"query": "who ", "document": "the "})
    place = tmp_path_factory.mktemp("st") / "tiny-st"
    model.save(str(place))
    return place


@pytest.fixture
def encoder(folder):
    return SentenceTransformerEncoder.load(folder)


def encoded(encoder, *texts, chunking="sentence"):
    corpus = Corpus("c", tuple(Document(f"d{place}", text) for place, text in enumerate(texts)))
    table = chunk_table(corpus, chunking, encoder.tokenizer.encode(texts))
    chunks = [texts[owner][start:end] for owner, (start, end) in zip(table.document, table.span)]
    return encode_documents(encoder, corpus, table), chunks


def test_chunks_and_queries_as_the_library_encodes_them(encoder):
    assert isinstance(encoder, Encoder) and not encoder.contextual and encoder.name == "tiny-st"
    found, chunks = encoded(encoder, *TEXTS)
    np.testing.assert_allclose(found.vectors, encoder.model.encode_document(chunks), atol=1e-5)
    np.testing.assert_allclose(encoder.queries(TEXTS), encoder.model.encode_query(list(TEXTS)), atol=1e-5)
    assert found.tokens_in == found.tokens_used == sum(len(ids) for ids, _ in encoder.tokenizer.encode(chunks))


def test_a_text_longer_than_the_window_is_the_mean_of_its_pieces(encoder):
    heard = []
    encoder.watch = lambda read, whole: heard.append((read, whole))
    found, _ = encoded(encoder, LONG, chunking="whole")
    pieces, owners, weights = encoder._pieces([LONG], 3)
    assert "".join(pieces) == LONG and set(owners) == {0} and max(weights) <= 21
    expected = np.average(encoder.model.encode_document(pieces), axis=0, weights=weights)
    np.testing.assert_allclose(found.vectors[0], expected, atol=1e-5)
    tokens = len(encoder.tokenizer.encode([LONG])[0][0])
    assert found.tokens_in == found.tokens_used == tokens and heard == [(tokens, tokens)]


def test_what_the_library_cuts_fails_the_suite(encoder, monkeypatch):
    whole = lambda texts, frame: (list(texts), list(range(len(texts))), [len(ids) for ids, _ in encoder.tokenizer.encode(texts)])  # noqa: E731
    monkeypatch.setattr(encoder, "_pieces", whole)
    with pytest.raises(Truncated, match="tokens in"):
        encoded(encoder, LONG, chunking="whole")


def test_ranges():
    assert _ranges(10, 10, []) == [(0, 10)]
    assert _ranges(0, 10, []) == [(0, 0)]
    assert _ranges(25, 10, []) == [(0, 9), (9, 17), (17, 25)]
    assert _ranges(25, 10, [5, 8, 16]) == [(0, 8), (8, 16), (16, 25)]


def test_a_folder_of_another_kind_is_refused(tiny_encoder):
    with pytest.raises(InputError, match="late:FOLDER"):
        SentenceTransformerEncoder.load(tiny_encoder)
