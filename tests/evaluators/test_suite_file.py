"""Suite files: the example's own words, defaults, splits, and every mistake with its line."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import yaml

from corpora import native
from corpora.errors import InputError
from corpora.splits import cut, freeze
from evaluators.evaluate import evaluate
from evaluators.suite_file import SuiteFile, load
from evaluators.suites.needle import NeedlePlan
from tests.evaluators.worlds import random_world

EXAMPLE = Path(__file__).parents[2] / "examples" / "suite.yaml"


def written(folder, **content):
    (folder / "s.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    return folder / "s.yaml"


def test_defaults_are_those_of_evaluate(tmp_path):
    settings = load(written(tmp_path, k=[1, 5, 10])).settings()
    given = {name: parameter.default for name, parameter in inspect.signature(evaluate).parameters.items()}
    assert settings == {name: given[name] for name in settings}
    assert load(tmp_path / "s.yaml").name == "s"


def test_the_example_says_the_defaults(tmp_path):
    file = load(EXAMPLE)
    default = SuiteFile(name="x")
    assert [task.shown for task in file.tasks] == ["cuad", "meetings"]
    assert Path(file.tasks[0].corpus).resolve() == (EXAMPLE.parents[2] / "shared" / "corpora" / "cuad").resolve()
    for name in ("chunk_sizes", "precisions", "k", "budgets"):
        assert getattr(file, name) == getattr(default, name)
    assert set(file.suites) == {*default.suites, "needle"}
    assert file.settings()["needle"] == NeedlePlan(lengths=(128, 256, 512, 1024, 2048))


@pytest.mark.parametrize(("text", "words"), [
    ("k: [1]\nsuits: [q2c]\n", ["s.yaml:2: suits", "did you mean 'suites'"]),
    ("suites: [q2c, q3c]\n", ["s.yaml:1: suites.1", "q3c"]),
    ("tasks:\n  - corpus: a\n  - corpse: b\n", ["s.yaml:3: tasks.1.corpus", "missing", "s.yaml:3: tasks.1.corpse",
                                              "did you mean 'corpus'"]),
    ("tasks:\n  - corpus: x/a\n  - corpus: y/a\n", ["name of its own", "a, a"]),
    ("chunking: token:3\nk: [0]\n", ["s.yaml:1: chunking", "s.yaml:2: k.0"]),
    ("k: [5, 999999999]\nchunk_sizes: [9999999999]\n", ["s.yaml:1: k.1", "100000", "s.yaml:2: chunk_sizes.0"]),
    ("needle:\n  lengths: [128]\n  depth: [2]\n", ["s.yaml:3: needle.depth", "did you mean 'depths'"]),
    ("name: a/b\n", ["s.yaml:1: name"]),
])
def test_mistakes_come_with_file_line_and_key(tmp_path, text, words):
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(InputError) as caught:
        load(tmp_path / "s.yaml")
    for word in words:
        assert word in str(caught.value), str(caught.value)


@pytest.fixture
def corpus():
    from dataclasses import replace

    from corpora.documents import Corpus

    world = random_world(3)[0]
    queries = tuple(replace(query, text=query.id, targets=query.targets[:1]) for query in world.queries)
    return Corpus("world", world.documents, queries)


def test_tasks_whole_and_by_split(tmp_path, corpus):
    native.write(corpus, tmp_path / "world")
    parts = cut(corpus, {"train": 0.5, "dev": 0.5})
    freeze(tmp_path / "world", corpus, parts)
    file = load(written(tmp_path, tasks=[{"corpus": "world", "domain": "d"}, {"corpus": "world", "split": "dev"}]))
    asked = []
    whole, dev = file.read_tasks(asked.append)
    assert asked == [tmp_path / "world", tmp_path / "world" / "dev"]
    assert (whole.name, whole.domain, dev.name) == ("world", "d", "world-dev")
    assert [document.id for document in dev.corpus.documents] == [document.id for document in parts["dev"].documents]
    assert len(whole.families) == len(corpus.documents)
    with pytest.raises(InputError, match="frozen splits: train, dev"):
        load(written(tmp_path, tasks=[{"corpus": "world", "split": "confirm"}])).read_tasks(asked.append)


def test_the_hash_is_of_content(tmp_path, corpus):
    native.write(corpus, tmp_path / "world")
    def hashed(**content):
        file = load(written(tmp_path, tasks=[{"corpus": "world"}], **content))
        return file.sha256(file.read_tasks(lambda folder: None))

    assert hashed(k=[1, 5, 10]) == hashed(name="other") != hashed(k=[1])
    (tmp_path / "n.jsonl").write_text('{"id": "opera", "literal_expansion": "one"}\n')
    before = hashed(needle={"expansions": "n.jsonl"})
    (tmp_path / "n.jsonl").write_text('{"id": "opera", "literal_expansion": "two"}\n')
    assert hashed(needle={"expansions": "n.jsonl"}) != before
