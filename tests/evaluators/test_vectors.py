from __future__ import annotations

import json

import pytest

from corpora import native
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


def test_only_given_chunks(golden):
    corpus = native.read(golden)
    with pytest.raises(InputError):
        evaluate(FileVectors.read(golden / "vectors.json", corpus), [Task("golden", corpus)], ("q2c",))
