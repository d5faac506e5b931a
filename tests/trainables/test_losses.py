"""Each loss against a slow reference: plain loops over pairs, documents and chunks."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trainables.losses import (
    Candidates,
    best_chunks,
    cosines,
    distillation_loss,
    document_loss,
    gold_losses,
    matryoshka_levels,
)


def slow_cosine(q, c):
    dot = sum(float(a) * float(b) for a, b in zip(q, c))
    norm = math.sqrt(sum(float(a) ** 2 for a in q) * sum(float(b) ** 2 for b in c))
    return dot / norm if norm else 0.0


def slow_document_loss(cosine, owner, positive, excluded, temperature):
    values = []
    for pair, row in enumerate(cosine):
        scores = {}
        for chunk, document in enumerate(owner):
            if not excluded[pair][document]:
                scores[document] = max(scores.get(document, -2), row[chunk])
        total = sum(math.exp(score / temperature) for score in scores.values())
        values.append(-math.log(math.exp(scores[positive[pair]] / temperature) / total))
    return sum(values) / len(values)


def slow_distillation_loss(cosine, owner, excluded, target, temperature):
    values = []
    for pair, row in enumerate(cosine):
        if not any(target[pair]):
            continue
        kept = [chunk for chunk, document in enumerate(owner) if not excluded[pair][document]]
        total = sum(math.exp(row[chunk] / temperature) for chunk in kept)
        divergence = 0.0
        for chunk in kept:
            if target[pair][chunk] > 0:
                student = math.exp(row[chunk] / temperature) / total
                divergence += target[pair][chunk] * math.log(target[pair][chunk] / student)
        values.append(divergence)
    return sum(values) / len(values) if values else 0.0


def slow_gold_losses(cosine, owner, positive, excluded, gold, temperature):
    in_batch, in_document = [], []
    for pair, row in enumerate(cosine):
        if gold[pair] < 0:
            continue
        hit = math.exp(row[gold[pair]] / temperature)
        others = siblings = 0.0
        for chunk, document in enumerate(owner):
            if document == positive[pair]:
                siblings += math.exp(row[chunk] / temperature)
            elif not excluded[pair][document]:
                others += math.exp(row[chunk] / temperature)
        in_batch.append(-math.log(hit / (hit + others)))
        in_document.append(-math.log(hit / siblings))
    count = max(len(in_batch), 1)
    return sum(in_batch) / count, sum(in_document) / count


@st.composite
def batches(draw):
    """(rng, queries [P, 8], chunks [C, 8], candidates, target [P, C], gold [P]) of a random small batch."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    documents, pairs = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    owner = np.repeat(np.arange(documents), rng.integers(1, 5, documents))
    positive = rng.integers(0, documents, pairs)
    excluded = rng.random((pairs, documents)) < 0.3
    excluded[np.arange(pairs), positive] = False
    target, gold = np.zeros((pairs, len(owner))), np.full(pairs, -1)
    for pair in range(pairs):
        own = np.flatnonzero(owner == positive[pair])
        if rng.random() < 0.7:
            scored = own[rng.random(len(own)) < 0.7]
            weights = rng.random(len(scored)) + 0.01
            target[pair, scored] = weights / weights.sum() if len(scored) else 0
        if rng.random() < 0.7:
            gold[pair] = rng.choice(own)
    queries, chunks = rng.normal(size=(pairs, 8)), rng.normal(size=(len(owner), 8))
    return queries, chunks, owner, positive, excluded, target, gold


def as_candidates(owner, positive, excluded):
    return Candidates(torch.tensor(owner), torch.tensor(positive), torch.tensor(excluded))


@settings(max_examples=40, deadline=None)
@given(batches())
def test_losses_match_plain_loops_at_every_dimension(batch):
    queries, chunks, owner, positive, excluded, target, gold = batch
    candidates, dimensions = as_candidates(owner, positive, excluded), [2, 5, 8]
    cosine, zeros = cosines(torch.tensor(queries), torch.tensor(chunks), dimensions)
    document = document_loss(cosine, candidates, 0.2)
    distilled = distillation_loss(cosine, candidates, torch.tensor(target, dtype=torch.float32), 0.3)
    in_batch, in_document = gold_losses(cosine, candidates, torch.tensor(gold), 0.25)
    assert zeros == 0
    for level, d in enumerate(dimensions):
        slow = [[slow_cosine(q[:d], c[:d]) for c in chunks] for q in queries]
        np.testing.assert_allclose(cosine[level], slow, atol=1e-5)
        assert document[level] == pytest.approx(slow_document_loss(slow, owner, positive, excluded, 0.2), abs=1e-4)
        assert distilled[level] == pytest.approx(slow_distillation_loss(slow, owner, excluded, target, 0.3), abs=1e-4)
        expected = slow_gold_losses(slow, owner, positive, excluded, gold, 0.25)
        assert (in_batch[level], in_document[level]) == (pytest.approx(expected[0], abs=1e-4), pytest.approx(expected[1], abs=1e-4))


def test_gradients_match_finite_differences_in_float64(monkeypatch):
    """The masks and partial products leave no path out: autograd agrees with central differences."""
    monkeypatch.setattr(torch.Tensor, "float", lambda self: self)
    generator = torch.Generator().manual_seed(0)
    queries = torch.randn(3, 6, generator=generator, dtype=torch.float64, requires_grad=True)
    chunks = torch.randn(7, 6, generator=generator, dtype=torch.float64, requires_grad=True)
    candidates = as_candidates([0, 0, 1, 1, 1, 2, 2], [0, 1, 2], [[False, True, False], [False] * 3, [False] * 3])
    target = torch.tensor([[0.3, 0.7, 0, 0, 0, 0, 0], [0] * 7, [0, 0, 0, 0, 0, 1.0, 0]], dtype=torch.float64)

    def losses(queries, chunks):
        cosine, _ = cosines(queries, chunks, [2, 6])
        gold = gold_losses(cosine, candidates, torch.tensor([1, -1, 5]), 0.5)
        return document_loss(cosine, candidates, 0.5), distillation_loss(cosine, candidates, target, 0.5), *gold

    assert torch.autograd.gradcheck(losses, (queries, chunks))


def test_a_maximum_shares_its_gradient_among_ties():
    cosine = torch.tensor([[0.5, 0.5, 0.1, 0.2]], requires_grad=True)
    best_chunks(cosine, torch.tensor([0, 0, 0, 1]), 2).sum().backward()
    assert cosine.grad.tolist() == [[0.5, 0.5, 0.0, 1.0]]


def test_a_zero_vector_scores_zero_without_gradient_and_is_counted():
    queries = torch.tensor([[0.0, 0.0, 3.0], [1.0, 0.0, 0.0]], requires_grad=True)
    chunks = torch.tensor([[0.0, 0.0, 0.0], [1.0, 2.0, 2.0]], requires_grad=True)
    cosine, zeros = cosines(queries, chunks, [2, 3])
    assert zeros == 3  # the first query cut to 2, the first chunk at 2 and at 3
    assert cosine[0].tolist() == [[0, 0], [0, pytest.approx(1 / math.sqrt(5))]]
    cosine.sum().backward()
    assert chunks.grad[0].tolist() == [0, 0, 0]
    assert torch.isfinite(queries.grad).all() and torch.isfinite(chunks.grad).all()


def test_with_only_the_positive_left_the_cross_entropy_is_zero_and_counted():
    candidates = as_candidates([0, 0, 1], [0, 1], [[False, True], [False, False]])
    cosine = torch.tensor([[[0.3, 0.2, 0.9], [0.1, 0.2, 0.3]]], requires_grad=True)
    assert candidates.without_negatives == 1
    loss = document_loss(cosine, candidates, 0.05)
    loss.sum().backward()
    assert cosine.grad[0, 0].tolist() == [0, 0, 0]
    alone = document_loss(cosine[:, :1], Candidates(candidates.owner, candidates.positive[:1], candidates.excluded[:1]), 0.05)
    assert alone.tolist() == [0.0]


def test_excluded_documents_change_nothing():
    """A twin of d+ may lie anywhere: neither loss sees it."""
    candidates = as_candidates([0, 0, 1, 2], [0], [[False, True, False]])
    target = torch.tensor([[0.4, 0.6, 0, 0]])
    values = []
    for twin in (-0.9, 0.99):
        cosine = torch.tensor([[[0.3, 0.2, twin, 0.1]]])
        values.append((document_loss(cosine, candidates, 0.1).item(), distillation_loss(cosine, candidates, target, 0.1).item(),
                       gold_losses(cosine, candidates, torch.tensor([0]), 0.1)[0].item()))
    assert values[0] == values[1]


def test_pairs_without_rows_do_not_dilute_the_distillation():
    cosine = torch.tensor([[[0.3, 0.2], [0.5, 0.1]]])
    candidates = as_candidates([0, 1], [0, 1], [[False, False]] * 2)
    target = torch.tensor([[1.0, 0.0], [0.0, 0.0]])
    both = distillation_loss(cosine, candidates, target, 0.1)
    first = distillation_loss(cosine[:, :1], as_candidates([0, 1], [0], [[False, False]]), target[:1], 0.1)
    assert both.item() == pytest.approx(first.item())
    assert distillation_loss(cosine, candidates, torch.zeros(2, 2), 0.1).tolist() == [0.0]


def test_cosines_leave_autocast():
    queries, chunks = torch.randn(4, 64), torch.randn(5, 64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside, _ = cosines(queries, chunks, [64])
    assert inside.dtype == torch.float32
    assert torch.equal(inside, cosines(queries, chunks, [64])[0])


def test_every_list_of_dimensions_contains_the_full_one():
    assert matryoshka_levels((), None, 384) == ([384], [1.0])
    assert matryoshka_levels((384, 64), (3.0, 1.0), 384) == ([64, 384], [0.25, 0.75])
    assert matryoshka_levels((128, 64), (3.0, 1.0), 384) == ([64, 128, 384], [1 / 6, 3 / 6, 2 / 6])
    with pytest.raises(ValueError, match="D=8"):
        cosines(torch.zeros(1, 8), torch.zeros(1, 8), [4, 16])
