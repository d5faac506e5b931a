"""A user's own mistakes: one clear message that names file and line or key, exit code 2, nothing half-written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml


@pytest.fixture
def sweep(tmp_path, tiny_yaml):
    """Writes a changed copy of the tiny sweep; `changes` replace sections, None removes one."""

    def write(**changes: object) -> Path:
        content = {**yaml.safe_load(tiny_yaml.read_text()), **changes}
        path = tmp_path / "sweep.yaml"
        path.write_text(yaml.safe_dump({key: value for key, value in content.items() if value is not None}))
        return path

    return write


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"recipe": {"wieght": 0.5}}, ["sweep.yaml:", "recipe.wieght", "did you mean 'weight'"]),
        ({"serach": {}}, ["sweep.yaml:", "serach", "did you mean 'search'"]),
        ({"recipe": {"weight": {"uniform": [1, 0]}}}, ["recipe.weight"]),
        ({"recipe": {"weight": {"uniform": [0, 2]}}}, ["recipe.weight", "less than or equal to 1"]),
        ({"recipe": {"chunking_mix": {"choice": [{"sentences": 1}]}}}, ["chunking_mix", "sentence"]),
        ({"recipe": {"dimensions": [999]}}, ["recipe.dimensions", "999", "16"]),
        ({"corpora": {"folder": "nowhere"}}, ["nowhere"]),
        ({"resources": {"slots": 1, "gpus": 1}}, ["resources.gpus"]),
        ({"mlflow": {"uri": "some/folder"}}, ["mlflow.uri", "sqlite"]),
        ({"mlflow": {"uri": "http://"}}, ["mlflow.uri", "names no host"]),
        ({"mlflow": {"uri": "sqlite:"}}, ["mlflow.uri", "names no file"]),
        ({"search": {"trials": True}}, ["search.trials", "a number is needed, found true"]),
        ({"search": {"trials": 2, "objectives": [{"metric": "context/Anwser@10"}]}}, ["search.objectives.0.metric", "did you mean 'context/Answer@10'"]),
        ({"name": [1]}, ["name", "found [1]"]),
        ({"search": None}, ["search", "missing"]),
    ],
)
def test_a_wrong_sweep_is_refused_before_anything_is_written(said, sweep, tmp_path, changes, words):
    for command in (["plan"], ["sweep", "--out", tmp_path / "out"]):
        code, out, err = said(command[0], sweep(**changes), *command[1:])
        assert code == 2 and out == ""
        assert all(word in err for word in words), err
    assert not (tmp_path / "out").exists()


def test_all_problems_are_told_at_once(said, sweep):
    code, _, err = said("plan", sweep(recipe={"wieght": 0.5, "steps": 0}, scheduler={"kind": "hyperband"}))
    assert code == 2
    assert all(word in err for word in ("wieght", "recipe.steps", "scheduler.kind"))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"id": "q", "text": "where', ["queries.jsonl:2"]),
        ('{"id": "q", "text": "t", "targets": [{"document": "d", "answers": [[0, 999]]}]}', ["queries.jsonl:2", "999"]),
        ('{"id": "q1", "text": "t", "targets": [{"document": "d"}]}', ["queries.jsonl:2", "q1"]),
        ('{"id": "q", "text": "t", "targets": [{"document": "e"}]}', ["queries.jsonl:2", "e"]),
    ],
)
def test_a_broken_corpus_names_file_and_line(said, sweep, tmp_path, line, words):
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "documents.jsonl").write_text('{"id": "d", "text": "The rent is 5 pounds. It is due in May."}\n')
    good = {"id": "q1", "text": "how much?", "targets": [{"document": "d", "answers": [[4, 8]]}]}
    (folder / "queries.jsonl").write_text(json.dumps(good) + "\n" + line + "\n")
    split = {"train": str(folder), "dev": str(folder)}
    for arguments in (["plan", sweep(corpora=split)], ["evaluate", "bm25", "--corpus", folder]):
        code, out, err = said(*arguments)
        assert code == 2 and out == ""
        assert all(word in err for word in words), err


def test_storage_that_cannot_be_written_is_refused(said, sweep, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    code, _, err = said("sweep", sweep(), "--out", tmp_path / "file" / "out")
    assert code == 2 and "cannot be written" in err


def test_a_checkpoint_that_is_none_or_was_changed_is_refused(said, tmp_path, finished):
    dev = Path(finished["sweep"]) / "corpora" / "dev"
    code, _, err = said("evaluate", tmp_path, "--corpus", dev)
    assert code == 2 and "manifest.json" in err
    changed = tmp_path / "changed"
    shutil.copytree(finished["trials"][0]["checkpoints"][0], changed)
    content = bytearray((changed / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (changed / "model.safetensors").write_bytes(content)
    for arguments in (["evaluate", changed, "--corpus", dev], ["checkpoint", "verify", changed]):
        code, _, err = said(*arguments)
        assert code == 2 and "model.safetensors" in err and "SHA-256" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["CHECKPOINT"]),
        (["bm25", "--suite", "q3c"], ["q3c", "q2c"]),
        (["bm25", "--k", "0"], ["--k", "'0'"]),
        (["bm25", "--k", "0", "--suite", "bogus", "--precision", "float16", "--chunk-sizes", "x"], ["--k", "'bogus'", "'float16'", "--chunk-sizes"]),
        (["bm25", "--k", "9" * 5000], ["--k", "1 to 100000", "'9999"]),
        (["bm25", "--k", "9999999"], ["--k", "1 to 100000", "'9999999'"]),
        (["bm25", "--chunk-sizes", "9" * 11], ["--chunk-sizes", "'99999999999'"]),
        (["bm25", "--chunking", "sentences"], ["--chunking: a chunking is", "nearest valid spelling: `sentence`"]),
        (["bm25", "--chunking", "tokens:9999999999"], ["--chunking: a chunking is"]),
        (["bm25", "--precision", "int4"], ["int4", "int8"]),
        (["--vectors", "missing.json"], ["missing.json"]),
    ],
)
def test_wrong_requests_of_evaluate(said, golden, arguments, words):
    code, out, err = said("evaluate", *arguments, "--corpus", golden)
    assert code == 2 and out == ""
    assert all(word in err for word in words), err


def test_a_folder_without_a_sweep(said, tmp_path):
    file = tmp_path / "file"
    file.touch()
    for command in (["status"], ["soup"], ["report"], ["gc"], ["stop"], ["sync"], ["ui"],
                    ["evaluate", "bm25", "--sweep"], ["evaluate", "--suite", "q2c", "--backfill"]):  # fmt: skip
        for folder in (tmp_path, tmp_path / "nowhere", file):
            code, out, err = said(*command, folder)
            assert code == 2 and out == "" and str(folder) in err, (command, err)
            assert said("compare", folder, folder)[0] == 2
    assert list(tmp_path.iterdir()) == [file]
