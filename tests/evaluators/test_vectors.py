from __future__ import annotations

import json

import pytest

from corpora import native
from corpora.documents import Corpus
from corpora.errors import InputError
from evaluators.evaluate import evaluate
from evaluators.tasks import Task
from evaluators.vectors import FileVectors


def refused(golden, tmp_path, change):
    content = json.loads((golden / "vectors.json").read_text())
    change(content)
    (tmp_path / "v.json").write_text(json.dumps(content))
    with pytest.raises(InputError) as caught:
        FileVectors.read(tmp_path / "v.json", native.read(golden))
    return [str(problem) for problem in caught.value.problems]


def test_all_problems_at_once(golden, tmp_path):
    def change(content):
        del content["queries"]["rent/0"]
        del content["chunks"]["manual"]
        content["chunks"]["lease 0"].pop()
        content["chunks"]["9"][0] = content["chunks"]["9"][0][:3]
        content["chunks"]["10"][0][0] = float("nan")
        content["queries"]["cut"] = [1.0, 2.0]

    found = refused(golden, tmp_path, change)
    for part in ("query 'rent/0'", "document 'manual'", "13 vectors for 14", "document '9'", "document '10'", "length"):
        assert any(part in line for line in found), part


@pytest.mark.parametrize("content", ["[]", "{", '{"queries": []}'])
def test_other_files_are_refused(golden, tmp_path, content):
    (tmp_path / "v.json").write_text(content)
    with pytest.raises(InputError):
        FileVectors.read(tmp_path / "v.json", native.read(golden))


@pytest.mark.parametrize(("change", "said"), [
    (lambda found: found["queries"]["cut"].__setitem__(0, 10**400), "query 'cut': holds a whole number that no float can hold"),
    (lambda found: found["queries"]["cut"].__setitem__(0, "1"), "query 'cut': expected lists of numbers, all of one length, found a string"),
    (lambda found: found["queries"]["cut"].__setitem__(0, True), "query 'cut': expected lists of numbers, all of one length, found true"),
    (lambda found: found["queries"]["cut"].__setitem__(0, None), "query 'cut': expected lists of numbers, all of one length, found null"),
    (lambda found: found["queries"].update(cut="12"), "query 'cut': expected lists of numbers, all of one length, found a string"),
    (lambda found: found["queries"].update(cut=[]), "query 'cut': holds a vector of no numbers"),
    (lambda found: found["chunks"].update(manual=[]), "document 'manual': has no vector in the file"),
    (lambda found: found["chunks"].update(manual={"0": [1]}), "document 'manual': expected lists of numbers, all of one length, found an object"),
])
def test_what_numpy_would_take_for_numbers_or_choke_on(golden, tmp_path, change, said):
    assert [line for line in refused(golden, tmp_path, change) if said in line]


@pytest.mark.parametrize(("content", "said"), [
    ("[" * 100_000, "nested too deeply"),
    ('{"queries": {}, "chunks": {}, "queries": {}}', "key 'queries' stands twice in one object"),
    ('{"queries": {"a": [%s]}, "chunks": {}}' % ("9" * 5000), "thousands of digits"),
])
def test_a_file_that_no_corpus_could_be_either(golden, tmp_path, content, said):
    (tmp_path / "v.json").write_text(content)
    with pytest.raises(InputError, match=said):
        FileVectors.read(tmp_path / "v.json", native.read(golden))


def test_a_vector_of_zeros_is_refused(golden, tmp_path):
    content = json.loads((golden / "vectors.json").read_text())
    name = next(iter(content["queries"]))
    content["queries"][name] = [0.0] * len(content["queries"][name])
    (tmp_path / "v.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=f"query {name!r}: holds a vector of zeros, which has no direction"):
        FileVectors.read(tmp_path / "v.json", native.read(golden))


def test_a_corpus_without_queries(golden):
    corpus = native.read(golden)
    with pytest.raises(InputError, match="has no queries"):
        FileVectors.read(golden / "vectors.json", Corpus("none", corpus.documents))


def test_only_given_chunks(golden):
    corpus = native.read(golden)
    with pytest.raises(InputError):
        evaluate(FileVectors.read(golden / "vectors.json", corpus), [Task("golden", corpus)], ("q2c",))
