"""Prepared corpora equal what is worked out directly, whoever builds them and however often."""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from corpora import prepared
from corpora.chunks import chunk_table
from corpora.documents import Corpus, Document, Query, Target
from corpora.errors import InputError, StockpotError
from corpora.prepared import Prepared, prepare
from corpora.tokens import Tokenizer
from tests.corpora import tiny

CHUNKINGS = ["sentence", "paragraph", "tokens:4", "tokens:5/0.2", "given", "whole"]


def corpus_of(documents=12):
    texts = [
        f"The rent of flat {place} is due. \n\nIt is {place * 7}. " * (place % 4 + 1) + "😀 end"
        for place in range(documents)
    ]
    return Corpus(
        "c",
        tuple(Document(f"d {place}", text, chunks=((0, 10), (8, len(text) - 3))) for place, text in enumerate(texts)),
        (Query("q", "?", (Target("d 0"),)),),
    )


def assert_same(found: Prepared, corpus: Corpus, tokenizer: Tokenizer) -> None:
    encodings = tokenizer.encode([document.text for document in corpus.documents])
    assert len(found) == len(encodings)
    for place, (ids, offsets) in enumerate(encodings):
        np.testing.assert_array_equal(found.encodings(place)[0], ids)
        np.testing.assert_array_equal(found.encodings(place)[1], offsets)
    for spelling in CHUNKINGS:
        table, expected = found.table(spelling), chunk_table(corpus, spelling, encodings)
        for name in ("document", "number", "span", "tokens", "indptr"):
            one, other = getattr(table, name), getattr(expected, name)
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
        assert table.ids() == expected.ids() and table.context_only == expected.context_only


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(prepared, "_PART_CHARACTERS", 150)


def test_prepared_equals_direct(tmp_path, small_parts):
    corpus, tokenizer = corpus_of(), tiny.wordpiece()
    found = prepare(corpus, tokenizer, CHUNKINGS, tmp_path)
    assert_same(found, corpus, tokenizer)
    assert_same(Prepared.open(found.folder), corpus, tokenizer)
    assert not found.verify()
    assert sorted(path.name for path in found.folder.iterdir()) == ["chunks", "parts", "tokens"]
    assert not list((found.folder / "parts").iterdir())


def test_processes_build_the_same(tmp_path, small_parts):
    corpus, tokenizer = corpus_of(), tiny.wordpiece()
    with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as executor:
        assert_same(prepare(corpus, tokenizer, CHUNKINGS, tmp_path, executor), corpus, tokenizer)


def build(root, started):
    while time.time() < started:
        time.sleep(0.001)
    prepare(corpus_of(), tiny.wordpiece(), CHUNKINGS, root)


def test_two_processes_may_build_one(tmp_path, small_parts):
    context = multiprocessing.get_context("fork")
    builders = [context.Process(target=build, args=(tmp_path, time.time() + 0.2)) for _ in range(3)]
    for builder in builders:
        builder.start()
    for builder in builders:
        builder.join(60)
    assert [builder.exitcode for builder in builders] == [0, 0, 0]
    assert_same(prepare(corpus_of(), tiny.wordpiece(), CHUNKINGS, tmp_path), corpus_of(), tiny.wordpiece())


def test_a_second_chunking_and_other_queries_cost_no_tokenisation(tmp_path, monkeypatch):
    corpus, tokenizer = corpus_of(), tiny.wordpiece()
    first = prepare(corpus, tokenizer, ["sentence"], tmp_path)
    monkeypatch.setattr(Tokenizer, "encode", None)
    second = prepare(replace(corpus, queries=()), tokenizer, CHUNKINGS, tmp_path)
    assert second.folder == first.folder and second.table("tokens:4").chunking == "tokens:4"


def test_other_texts_or_tokenizers_lie_elsewhere(tmp_path):
    corpus = corpus_of()
    folders = {
        prepare(one, tokenizer, [], tmp_path).folder
        for one in (corpus, corpus_of(3))
        for tokenizer in (tiny.wordpiece(), tiny.bytelevel())
    }
    assert len(folders) == 4


def test_an_interrupted_build_goes_on(tmp_path, small_parts, monkeypatch):
    corpus, tokenizer = corpus_of(), tiny.wordpiece()
    encode, calls = Tokenizer.encode, []

    def dies_at_third(self, texts):
        calls.append(len(texts))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return encode(self, texts)

    monkeypatch.setattr(Tokenizer, "encode", dies_at_third)
    with pytest.raises(KeyboardInterrupt):
        prepare(corpus, tokenizer, ["sentence"], tmp_path)
    prepare(corpus, tokenizer, CHUNKINGS, tmp_path)
    parts = len(list(prepared._ranges([len(document.text) for document in corpus.documents])))
    assert len(calls) == parts + 1
    monkeypatch.undo()
    assert_same(prepare(corpus, tokenizer, CHUNKINGS, tmp_path), corpus, tokenizer)


def test_damage_is_noticed(tmp_path):
    found = prepare(corpus_of(), tiny.wordpiece(), ["sentence"], tmp_path)
    path = found.folder / "tokens" / "ids.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert [problem.where for problem in found.verify()] == [str(path)]
    path.write_bytes(content[:-4])
    with pytest.raises(StockpotError, match="changed size"):
        Prepared.open(found.folder)


def test_errors_name_the_reason(tmp_path):
    found = prepare(corpus_of(), tiny.wordpiece(), ["sentence"], tmp_path)
    with pytest.raises(InputError, match="`whole` is not prepared"):
        found.table("whole")
    with pytest.raises(StockpotError, match="no prepared folder"):
        Prepared.open(tmp_path / "nowhere")
    bare = Corpus("bare", (Document("a", "x"),))
    with pytest.raises(InputError, match="bare: document 'a'"):
        prepare(bare, tiny.wordpiece(), ["given"], tmp_path)


def test_a_corpus_without_documents_or_tokens(tmp_path):
    assert len(prepare(Corpus("none", ()), tiny.wordpiece(), ["sentence"], tmp_path).table("sentence")) == 0
    found = prepare(Corpus("blank", (Document("a", "\u200b"),)), tiny.wordpiece(), ["tokens:4"], tmp_path)
    assert found.encodings(0)[0].tolist() == [] and found.table("tokens:4").tokens.tolist() == [[0, 0]]
