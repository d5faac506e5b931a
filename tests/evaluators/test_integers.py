"""Products of codes against Python's integers, by both kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluators import integers
from evaluators.integers import by_floats, by_vnni, product
from evaluators.ranking import Index, rank
from evaluators.scores import BinaryScores, CodeScores
from tests.evaluators.test_ranking import brute, kept, table

KERNELS = [by_floats] + [by_vnni] * integers._has_vnni()
"""Where the processor lacks the instructions, the other kernel is never called."""


def by_hand(left, right):
    """Sums of Python's integers."""
    return [[sum(map(int.__mul__, a, b)) for b in right.tolist()] for a in left.tolist()]


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=40, deadline=None)
@given(rows=st.tuples(st.integers(2, 20), st.integers(2, 20)), dimension=st.integers(2, 4200), seed=st.integers(0, 99),
       extreme=st.booleans())
def test_products_are_the_integers(kernel, rows, dimension, seed, extreme):
    rng = np.random.default_rng(seed)
    values = np.array([-128, 127], np.int8) if extreme else np.arange(-128, 128, dtype=np.int8)
    left, right = (rng.choice(values, (count, dimension)) for count in rows)
    if extreme:
        left[0] = right[0] = -128  # The largest sum there is.
    assert kernel(left, right).tolist() == by_hand(left, right)


@pytest.mark.parametrize("shape", [(0, 3, 5), (3, 0, 5), (1, 3, 1), (3, 1, 4), (1, 1, 1), (4, 5, 1)])
def test_thin_products(shape, monkeypatch):
    monkeypatch.setattr(integers, "SMALL", -1)
    rows, columns, dimension = shape
    left = np.arange(rows * dimension, dtype=np.int8).reshape(rows, dimension)
    right = 7 - np.arange(columns * dimension, dtype=np.int8).reshape(columns, dimension)
    assert product(left, right).tolist() == by_hand(left, right)


@pytest.mark.parametrize("kernel", KERNELS)
def test_cuts_and_read_only_maps(kernel, tmp_path):
    """A cut of longer vectors, and vectors mapped from a file that may not be written."""
    codes = np.random.default_rng(0).integers(-127, 128, (9, 40), np.int8)
    codes.tofile(tmp_path / "codes")
    mapped = np.memmap(tmp_path / "codes", np.int8, "r", shape=(9, 40))
    assert kernel(codes[:, :17], mapped[2:, :17]).tolist() == by_hand(codes[:, :17], codes[2:, :17])


@pytest.mark.parametrize("small", [-1, 1 << 60])
@settings(max_examples=12, deadline=None)
@given(dimension=st.integers(1040, 4096), seed=st.integers(0, 10**6))
def test_codes_rank_as_their_integers_do(small, dimension, seed):
    """Near-ties about and beyond 2^24, where float32 products are wrong: the largest codes, a few changed by 1."""
    rng = np.random.default_rng(seed)
    sign = rng.choice(np.array([-1, 1], np.int8), dimension)
    queries = np.stack([sign * each for each in (127, 126, rng.integers(100, 128, dimension))]).astype(np.int8)
    chunks = np.tile(sign * np.int8(127), (60, 1))
    for row, changes in zip(chunks, rng.integers(0, 4, len(chunks)), strict=True):
        changed = rng.choice(dimension, changes)
        row[changed] = 126 * sign[changed]
    index = Index(table([5] * 12))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(integers, "SMALL", small)
        found, documents = rank(CodeScores(queries, chunks), index, 20, 6)
    dots = np.array(by_hand(queries, chunks), np.float64)
    both = np.outer(*([sum(map(int.__mul__, row, row)) for row in side.tolist()] for side in (queries, chunks)))
    matrix = (dots / np.sqrt(both.astype(np.float64))).astype(np.float32)
    assert (kept(found), kept(documents)) == brute(matrix, index, 20, 6)
    assert np.array_equal(found.score, np.take_along_axis(matrix, found.position, axis=1))


@pytest.mark.parametrize("small", [-1, 1 << 60])
@pytest.mark.parametrize("dimension", [1, 7, 64, 1023, 1024, 4096])
def test_signs_rank_as_their_integers_do(small, dimension, monkeypatch):
    monkeypatch.setattr(integers, "SMALL", small)
    rng = np.random.default_rng(dimension)
    chunks = np.tile(rng.choice(np.array([-1, 1], np.int8), dimension), (60, 1))
    chunks[np.arange(60), rng.integers(0, dimension, 60)] *= -1
    queries = np.stack([chunks[0], -chunks[7], rng.choice(np.array([-1, 1], np.int8), dimension)])
    index = Index(table([5] * 12))
    scores = BinaryScores(queries, chunks)
    matrix = (np.array(by_hand(queries, chunks)) / dimension).astype(np.float32)
    found, documents = rank(scores, index, 20, 6)
    assert (kept(found), kept(documents)) == brute(matrix, index, 20, 6)
    assert np.array_equal(scores.block(0, 60), matrix)
    assert np.array_equal(scores.exact(np.repeat([0, 1, 2], 60), np.tile(np.arange(60), 3)), matrix.ravel())


@pytest.mark.parametrize("dimension", [2, 16, 1040, 1041, 2048, 4096])
def test_blocks_of_codes_keep_their_margin(dimension, monkeypatch):
    monkeypatch.setattr(integers, "SMALL", -1)
    rng = np.random.default_rng(dimension)
    queries, chunks = (rng.integers(-127, 128, (count, dimension), np.int8) for count in (5, 200))
    chunks[0], chunks[1:20] = 0, np.sign(queries[0]) * rng.integers(120, 128, (19, dimension), np.int8)
    scores = CodeScores(queries, chunks)
    exact = scores.within(range(5), 0, 200).astype(np.float64)
    assert np.abs(scores.block(0, 200) - exact).max() <= scores.margin
