"""Chunk and query vectors against one document at a time through plain transformers."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from corpora.chunks import chunk_table
from corpora.documents import Corpus, Document
from corpora.errors import InputError
from evaluators.encoder import Encoder, encode_documents
from trainables.layouts import DocumentInput, layout
from trainables.pooling import passes
from trainables.student import Student, StudentEncoder

TEXTS = (
    "The cat sat on a mat. The dog ran away from him! Who pays rent?",
    "The tenant pays rent. " * 12,
    "Dog.",
    "The landlord pays for repairs. A cat ran. " * 3,
)


@pytest.fixture(scope="module")
def student(tiny_base) -> Student:
    return Student.load(tiny_base)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus("tiny", tuple(Document(f"d{place}", text) for place, text in enumerate(TEXTS)))


def states(student: Student, ids) -> torch.Tensor:
    """[tokens, hidden] of one unpadded input."""
    return student.encoder(input_ids=torch.tensor([list(ids)])).last_hidden_state[0]


def slow_chunks(student: Student, ids: np.ndarray, chunks: np.ndarray) -> np.ndarray:
    """Each window alone; each chunk the mean over the tokens pooled into it."""
    with torch.no_grad():
        read = [(window, states(student, window.ids.tolist())) for window in layout(DocumentInput(ids, chunks), student.frame)]
        means = []
        for row in range(len(chunks)):
            own = [hidden[p] for window, hidden in read for p, r in zip(window.positions, window.rows) if r == row]
            means.append(torch.stack(own).mean(0))
        return (torch.stack(means) @ student.projection.weight.T).numpy()


@pytest.mark.parametrize("chunking", ["sentence", "tokens:5/0.4", "whole"])
def test_documents_equal_the_slow_reference_whatever_the_batch(student, corpus, chunking):
    encodings = student.tokenizer.encode(TEXTS)
    table = chunk_table(corpus, chunking, encodings)
    expected = np.concatenate([
        slow_chunks(student, ids, table.tokens[table.of(place)]) for place, (ids, _) in enumerate(encodings)
    ])
    for budget in (1, 50, 10_000):
        encoder = StudentEncoder(student, "tiny", budget=budget)
        assert isinstance(encoder, Encoder)
        encoded = encode_documents(encoder, corpus, table)
        np.testing.assert_allclose(encoded.vectors, expected, atol=1e-5)
        assert encoded.vectors.dtype == np.float32
        assert encoded.tokens_used == (table.tokens[:, 1] - table.tokens[:, 0]).sum()


def test_context_tokens_are_accounted_for(student):
    text = TEXTS[0]
    corpus = Corpus("gaps", (Document("d", text, chunks=((4, 12), (30, 38))),))
    table = chunk_table(corpus, "given", student.tokenizer.encode([text]))
    encoded = encode_documents(StudentEncoder(student, "tiny"), corpus, table)
    assert table.context_only > 0 and encoded.tokens_used == encoded.tokens_in == len(student.tokenizer.encode([text])[0][0])


def test_queries_are_means_over_specials_too(student):
    queries = ["who pays rent?", "the cat", ""]
    found = student.forward_queries(queries).detach().numpy()
    for vector, text in zip(found, queries):
        ids = student.tokenizer.encode([text])[0][0].tolist()
        with torch.no_grad():
            mean = states(student, [2, *ids, 3]).mean(0)
            np.testing.assert_allclose(vector, (student.projection.weight @ mean).numpy(), atol=1e-5)
    by_ids = student.forward_queries([student.tokenizer.encode([text])[0][0] for text in queries])
    np.testing.assert_allclose(by_ids.detach().numpy(), found, atol=1e-6)


def test_a_long_query_is_cut_counted_and_reported(student, caplog):
    encoder = StudentEncoder(student, "tiny")
    encoder.queries(["cat " * 22, "cat " * 23])
    assert encoder.truncated == 1
    assert "1 of 2 queries are longer than the window of 24 tokens" in caplog.text


def test_a_special_in_a_text_is_plain_text(student):
    (ids, _), = student.tokenizer.encode(["cat [SEP] dog"])
    assert 3 not in ids.tolist() and len(ids) > 3
    assert student.frame.separator not in ids


def test_a_document_without_tokens_is_a_zero_vector(student):
    z = student.forward_documents([DocumentInput(np.empty(0, np.int32), np.array([[0, 0]])), DocumentInput(np.array([5, 6]), np.array([[0, 2]]))])
    assert (z[0] == 0).all() and (z[1] != 0).any()


def test_gradients_reach_all_parameters_with_and_without_checkpointing(tiny_base):
    gradients = []
    for checkpointing in (False, True):
        student = Student.load(tiny_base, gradient_checkpointing=checkpointing).train()
        ids = student.tokenizer.encode(TEXTS[:2])
        z = student.forward_documents([DocumentInput(one, np.array([[0, 3], [3, len(one)]])) for one, _ in ids])
        (z ** 2).sum().backward()
        trained = [p for name, p in student.named_parameters() if "pooler" not in name]
        assert all(p.grad is not None for p in trained)
        assert student.encoder.get_input_embeddings().weight.grad[student.frame.separator].abs().sum() > 0
        gradients.append(torch.cat([p.grad.flatten() for p in trained]))
    torch.testing.assert_close(*gradients)


def test_eager_attention_and_bf16_agree_with_sdpa(tiny_base):
    queries = ["who pays rent?", "the cat sat on the mat"]
    expected = Student.load(tiny_base).forward_queries(queries)
    torch.testing.assert_close(Student.load(tiny_base, attention="eager").forward_queries(queries), expected, atol=1e-5, rtol=1e-5)
    rough = Student.load(tiny_base, precision="bf16").forward_queries(queries)
    assert rough.dtype == torch.float32 and not torch.equal(rough, expected)
    assert torch.cosine_similarity(rough, expected).min() > 0.99


def test_flash_attention_and_a_missing_gpu_are_refused_with_the_reason(tiny_base):
    with pytest.raises(InputError, match="flash_attention_2 needs a GPU"):
        Student.load(tiny_base, attention="flash_attention_2")
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="no GPU here"):
            Student.load(tiny_base, device="cuda")


def test_loading_leaves_the_random_numbers_alone(tiny_base):
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    Student.load(tiny_base)
    assert torch.equal(torch.rand(3), expected)


def test_passes_hold_all_windows_once_within_the_budget():
    lengths = [5, 30, 7, 7, 12, 40, 1]
    groups = list(passes(lengths, 32))
    assert sorted(place for group in groups for place in group) == list(range(7))
    assert all(len(group) == 1 or len(group) * max(lengths[p] for p in group) <= 32 for group in groups)


def test_loading_is_quiet(tiny_base, capfd):
    Student.load(tiny_base)
    out, err = capfd.readouterr()
    assert out == err == ""
    assert json.loads((tiny_base / "config.json").read_text())["hidden_dropout_prob"] == 0
