from __future__ import annotations

import pytest

from corpora.errors import InputError
from evaluators.encoder import Scorer
from trainables.encoders import encoder_of, named, own

WORDS = {
    "runs/a:b": ("checkpoint", "runs/a:b"), "bm25": ("bm25", ""), "isolated": ("isolated", "minilm"),
    "isolated:x": ("isolated", "x"), "late": ("late", "minilm"), "late:a/b": ("late", "a/b"),
    "sentence-transformers:a/b": ("sentence-transformers", "a/b"), "late/model": ("checkpoint", "late/model"),
}  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_words(word):
    assert named(word) == WORDS[word]


def test_a_word_without_its_folder():
    with pytest.raises(InputError, match="FOLDER"):
        named("sentence-transformers:")


def test_kinds(tiny_encoder, tiny_base):
    assert encoder_of("checkpoint", str(tiny_base)).name == tiny_base.name
    assert encoder_of("isolated", str(tiny_encoder)).name == "isolated:tiny"
    assert encoder_of("late", str(tiny_encoder)).contextual
    assert isinstance(encoder_of("bm25", ""), Scorer)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module of the user's into the current folder."""
    import sys

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return name

    return write


def test_an_encoder_of_ones_own(module):
    name = module("mine_good", "from evaluators.bm25 import BM25\ndef make():\n    return BM25()\n")
    assert own(f"{name}:make").name == "bm25"


@pytest.mark.parametrize(("name", "text", "spec", "words"), [
    ("mine_a", "", "mine_a", "module.path:factory"),
    ("mine_b", "", "mine_b:make", "no function 'make'"),
    ("mine_c", "def make():\n    return 1 / 0\n", "mine_c:make", "mine_c.py:2"),
    ("mine_d", "def make():\n    return object()\n", "mine_d:make", "without name, dimension"),
    ("mine_e", "", "nowhere_e:make", "ModuleNotFoundError"),
])
def test_what_is_wrong_with_ones_own_is_said(module, name, text, spec, words):
    module(name, text)
    with pytest.raises(InputError, match=words):
        own(spec)
