"""Order, exact scores and ties: section 6's rules against brute force."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.chunks import ChunkTable
from evaluators import ranking
from evaluators.ranking import Index, inside, packed, places, rank
from evaluators.scores import KINDS, CosineScores, MatrixScores
from tests.evaluators.reference import cosine, ordered


def table(sizes):
    """A chunk table of documents with so many chunks each; ids that sort in another order than they stand."""
    names = tuple(f"{(7 * place) % 11} {place}" for place in range(len(sizes)))
    sizes = np.array(sizes, np.int64)
    number = np.concatenate([np.arange(size) for size in sizes]).astype(np.int32) if len(sizes) else np.empty(0, np.int32)
    return ChunkTable("given", names, np.repeat(np.arange(len(sizes), dtype=np.int32), sizes), number,
                      np.zeros((int(sizes.sum()), 2), np.int64), None, np.concatenate([[0], np.cumsum(sizes)]))


def brute(matrix, index, depth, document_depth):
    """Positions by plain sorting of ids."""
    chunk_ids, document_ids = index.chunk_ids, index.document_ids
    chunks, documents = [], []
    for scores in matrix.tolist():
        by_id = {name.encode(): (score, place) for place, (name, score) in enumerate(zip(chunk_ids, scores, strict=True))}
        chunks.append([by_id[name][1] for name in sorted(by_id, key=lambda each: (by_id[each][0], each), reverse=True)])
        best = {}
        for place, score in zip(index.table.document.tolist(), scores, strict=True):
            best[place] = max(score, best.get(place, -np.inf))
        documents.append(sorted(best, key=lambda each: (best[each], document_ids[each].encode()), reverse=True))
    return [row[:depth] for row in chunks], [row[:document_depth] for row in documents]


def kept(found):
    return [[place for place in row if place >= 0] for row in found.position.tolist()]


@settings(max_examples=60, deadline=None)
@given(sizes=st.lists(st.integers(0, 9), min_size=1, max_size=12), seed=st.integers(0, 10**6),
       depth=st.integers(1, 12), width=st.integers(1, 30))
def test_any_blocks_give_the_one_order(sizes, seed, depth, width):
    """Documents cut by block borders, empty documents, ties at the cut: as sorting everything."""
    index = Index(table(sizes))
    chunks = len(index.table)
    matrix = np.random.default_rng(seed).integers(-2, 3, (3, chunks)).astype(np.float32)
    with patch.object(ranking, "BLOCK", 3 * width), patch.object(ranking, "NARROWEST", 1):
        found = rank(MatrixScores(matrix), index, depth, max(1, depth // 2))
    expected = brute(matrix, index, depth, max(1, depth // 2))
    assert (kept(found[0]), kept(found[1])) == expected
    assert np.array_equal(np.isnan(found[0].score), found[0].position < 0)


@pytest.mark.parametrize("kind", ["float32", "int8", "binary"])
@pytest.mark.parametrize("dimension", [1, 3, 16, 384, 1100, 4096])
def test_scores_are_the_definition_rounded_once(kind, dimension):
    rng = np.random.default_rng(dimension)
    chunks = rng.normal(size=(90, dimension))
    chunks[40:60] = chunks[20:40]  # Equal vectors at other places.
    chunks[60:80] = chunks[20:40] + rng.normal(size=(20, dimension)) * 1e-7  # Nearly equal ones.
    queries = rng.normal(size=(4, dimension))
    if kind == "float32":
        chunks, queries = chunks.astype(np.float32), queries.astype(np.float32)
        chunks[5] = queries[2] = 0
    elif kind == "int8":
        chunks, queries = (np.rint(each * 40).clip(-127, 127).astype(np.int8) for each in (chunks, queries))
    else:
        chunks, queries = (np.where(each >= 0, 1, -1).astype(np.int8) for each in (chunks, queries))
    index = Index(table([10] * 9))
    scores = KINDS[kind](queries, chunks)
    found, documents = rank(scores, index, 30, 5)
    matrix = np.array([[cosine(q, c) for c in chunks.tolist()] for q in queries.tolist()], np.float32)
    expected = brute(matrix, index, 30, 5)
    assert (kept(found), kept(documents)) == expected
    assert np.array_equal(found.score, np.take_along_axis(matrix, found.position, axis=1))
    assert np.abs(scores.block(0, 90) - matrix).max() <= scores.margin + 2.0**-24
    for document in range(9):
        ranks, place = inside(scores, index, [0, 3], document)
        rows = slice(10 * document, 10 * document + 10)
        for row, query in enumerate([0, 3]):
            names = {index.chunk_ids[each]: matrix[query, each] for each in range(rows.start, rows.stop)}
            assert [index.chunk_ids[rows.start + each] for each in np.argsort(ranks[row])] == sorted(
                names, key=lambda each: (names[each], each.encode()), reverse=True)
            best = packed(matrix[query, rows].max(), index.document_place[document])
            assert place[row] == best


def test_equal_vectors_tie_wherever_they_stand():
    """Also at the ends of blocks, where fast products use other kernels."""
    rng = np.random.default_rng(3)
    vector = rng.normal(size=37).astype(np.float32)
    for chunks in (1, 2, 7, 33, 257):
        scores = CosineScores(rng.normal(size=(5, 37)).astype(np.float32), np.tile(vector, (chunks, 1)))
        exact = scores.exact(np.repeat(np.arange(5), chunks), np.tile(np.arange(chunks), 5)).reshape(5, chunks)
        assert (exact == exact[:, :1]).all()
        assert all((scores.within([query], place, place + 1) == exact[query, 0]).all()
                   for query in range(5) for place in range(chunks))


def test_lengths_beyond_float32_do_not_matter():
    rng = np.random.default_rng(0)
    chunks, queries = rng.normal(size=(40, 8)), rng.normal(size=(3, 8))
    scale = np.array([1e-44, 1e-38, 1e-20, 1, 1e20, 1e37])[np.arange(40) % 6, None]
    scores = CosineScores(queries * 1e37, chunks * scale)
    matrix = np.array([[cosine(q, c) for c in chunks.tolist()] for q in queries.tolist()])
    assert np.abs(scores.block(0, 40) - matrix).max() < 1e-6
    assert np.abs(scores.within([0, 1, 2], 0, 40) - matrix).max() < 1e-6


def test_places_follow_encoded_bytes():
    """Percent-encoding moves a space: "a b" stands as "a%20b", before "a-b"; numbers are names."""
    names = ["10", "9", "a%20b", "a-b", "Ä", "🙂", "a#000001", "a"]
    assert [names[place] for place in np.argsort(places(names))] == sorted(names, key=str.encode)
    assert ordered({"a b": 1.0, "a-b": 1.0, "a\u00a0b": 1.0}) == ["a-b", "a\u00a0b", "a b"]


@given(st.lists(st.floats(-1, 1, width=32), min_size=2, max_size=20))
def test_packing_keeps_the_order_of_scores(values):
    score = np.array(values, np.float32)
    key = packed(score, np.zeros(len(score), np.int64))
    assert ((key[:, None] < key) == (score[:, None] < score)).all()
