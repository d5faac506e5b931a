"""Odd circumstances and odd requests: closed streams, full disks, folders that hold something else; never a traceback."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch

from corpora import scores
from corpora.arrays import write_arrays
from corpora.errors import InputError
from corpora.files import build_folder, write_atomically
from tests.sweeps import made_ledgers
from tests.sweeps.tiny_sweep import sweep_file
from stockpot.places import runs_folder
from sweeps.sweep_folder import check_begun, check_unused
from trainables import checkpoints


@contextlib.contextmanager
def no_file_over(limit: int):
    """Every write beyond so many bytes of a file fails, as on a full disk. (Inside a test only: the limit holds for
    pytest's own report too, and its output is often a file.)"""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_a_stream_that_the_shell_closed(golden, closed):
    command = f'"{sys.executable}" -m stockpot corpus check "{golden}" --json {closed}'
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_result_that_cannot_be_written():
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "stockpot", "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr and "no space left on device" in done.stderr


def test_a_full_disk_is_told_in_a_line_that_names_the_file(said, tiny_yaml, tmp_path):
    with no_file_over(50_000):
        code, out, err = said("prepare", tiny_yaml, "--out", tmp_path / "out")
    assert code == 1 and out == "" and f"error {tmp_path / 'out'}" in err and err.endswith("documents.jsonl: file too large")


WRITERS = {
    "safetensors": lambda path: checkpoints.save({"w": torch.zeros(5000)}, path),
    "a checkpoint": lambda path: checkpoints.write(path, {"projection.weight": torch.zeros(5000)}, {}),
    "NumPy": lambda path: build_folder(path, lambda beside: write_arrays(beside, iter([{"a": np.zeros(5000)}]))),
    "parquet": lambda path: scores.write(path, [rows(20_000)]),
    "bytes": lambda path: write_atomically(path, bytes(20_000)),
}


def rows(count: int) -> scores.PairRows:
    random = np.random.default_rng(0)
    return scores.PairRows("q", "d", np.arange(count), np.arange(count) + 1, random.random(count, np.float32), random.random(count, np.float32))


@pytest.mark.parametrize("writer", WRITERS)
def test_every_writer_names_what_it_could_not_write(tmp_path, writer):
    with no_file_over(10_000), pytest.raises(OSError) as refused:
        WRITERS[writer](tmp_path / "made")
    assert str(refused.value.filename).startswith(str(tmp_path)) and refused.value.strerror
    assert writer == "safetensors" or list(tmp_path.iterdir()) == []  # nothing half written is left


def test_a_sweep_is_not_mixed_into_a_folder_of_something_else(said, tiny_yaml, golden, tmp_path):
    shutil.copytree(golden, tmp_path / "corpus")
    before = sorted(tmp_path.rglob("*"))
    for command in ("sweep", "prepare"):
        code, out, err = said(command, tiny_yaml, "--out", tmp_path / "corpus")
        assert code == 2 and out == "" and "is no sweep's folder: it holds README.md, documents.jsonl" in err and "--out" in err
    assert sorted(tmp_path.rglob("*")) == before


def test_what_sweeps_leave_before_their_first_trial_is_accepted(said, tiny_yaml, tmp_path):
    out = tmp_path / "out"
    assert said("prepare", tiny_yaml, "--out", out)[0] == 0
    (out / "ledger").mkdir(exist_ok=True)
    (out / "ledger" / "lease.json.old").touch()
    (out / "sweep.log").touch()  # a scheduler's
    check_unused(out)
    told: list[str] = []
    check_begun(out, None, told.append)
    assert told == ["the sweep had not begun its first trial: it begins now, on what was prepared"]
    shutil.move(out / "corpora" / "made_by.json", out / "corpora" / "else.json")
    with pytest.raises(InputError, match="it holds corpora"):  # somebody's own folder of that name
        check_unused(out)


@pytest.mark.parametrize("command", ["sweep", "demo", "noise"])
def test_nothing_to_resume(said, tiny_yaml, tmp_path, command):
    out = tmp_path / "typo"
    code, _, err = said(command, *([] if command == "demo" else [tiny_yaml]), "--out", out, "--resume")
    assert code == 2 and f"--resume: there is no sweep in {out}" in err and not out.exists()


def test_nothing_to_resume_in_storage_either(tmp_path):
    (tmp_path / "stored").mkdir()
    with pytest.raises(InputError, match="and none in file://"):
        check_begun(tmp_path / "out", f"file://{tmp_path / 'stored'}", print)


GARBAGE = {"empty": b"", "bytes": b"\x00\xff\xfe", "an object": b"{}", "null": b"null", "a list": b'[1, "x"]', "a number": b"7", "NaN": b'{"a": NaN}',
           "cut parquet": b"PAR1 cut PAR1", "cut NumPy": b"\x93NUMPY cut"}  # fmt: skip
ANY_FILE = {
    "needles": ["evaluate", "bm25", "--corpus", "GOLDEN", "--suite", "needle", "--needles", "FILE"],
    "expansions": ["evaluate", "bm25", "--corpus", "GOLDEN", "--suite", "needle", "--needle-expansions", "FILE"],
    "vectors": ["evaluate", "--vectors", "FILE", "--corpus", "GOLDEN"],
    "suite file": ["evaluate", "bm25", "--corpus", "GOLDEN", "--suite-file", "FILE"],
    "tokenizer": ["evaluate", "bm25", "--corpus", "GOLDEN", "--chunking", "tokens:5", "--tokenizer", "FOLDER"],
    "transformers": ["evaluate", "isolated:FOLDER", "--corpus", "GOLDEN", "--suite", "q2d"],
    "sentence-transformers": ["evaluate", "sentence-transformers:FOLDER", "--corpus", "GOLDEN", "--suite", "q2d"],
    "checkpoint": ["evaluate", "FOLDER", "--corpus", "GOLDEN", "--suite", "q2d"],
    "verify": ["checkpoint", "verify", "FOLDER"],
    "compare": ["compare", "FILE", "FILE"],
    "plan": ["plan", "FILE"],
    "noise": ["plan", "TINY", "--noise", "FILE"],
    "teacher": ["plan", "TEACHER"],
    "cluster": ["cluster", "render", "slurm", "FILE"],
    "squad": ["corpus", "import", "squad", "FILE", "OUT"],
    "span-csv": ["corpus", "import", "span-csv", "FILE", "OUT"],
    "beir": ["corpus", "import", "beir", "FOLDER", "OUT"],
    "conteb": ["corpus", "import", "conteb", "FOLDER", "OUT"],
}


@pytest.mark.parametrize("what", ANY_FILE)
@pytest.mark.filterwarnings("ignore")
def test_any_file_where_another_is_wanted_is_refused_in_words(said, golden, tiny_yaml, tmp_path, what):
    for kind, content in GARBAGE.items():
        if (what, kind) in (("expansions", "empty"), ("suite file", "an object")):
            continue  # asks for nothing, which is the default
        folder = tmp_path / kind
        (folder / "qrels").mkdir(parents=True)
        for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors", "modules.json", "manifest.json",
                     "corpus.jsonl", "queries.jsonl", "queries.parquet", "documents.parquet", "qrels/test.tsv"):  # fmt: skip
            (folder / name).write_bytes(content)
        (folder / "teacher.yaml").write_text(f"name: x\ncorpora: {{train: {golden}, dev: {golden}}}\nsearch: {{trials: 1}}\n"
                                             "teacher: {kind: file, path: manifest.json}\n")  # fmt: skip
        places = {"GOLDEN": golden, "TINY": tiny_yaml, "FILE": folder / "manifest.json", "TEACHER": folder / "teacher.yaml",
                  "OUT": tmp_path / "out"}  # fmt: skip
        arguments = [str(places.get(one, one)).replace("FOLDER", str(folder)) for one in ANY_FILE[what]]
        code, out, err = said(*arguments)
        assert code in (1, 2) and out == "" and "error" in err and not (tmp_path / "out").exists(), (kind, out, err)


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["corpus", "check", ""], "an argument"),
        (["status", ""], "an argument"),
        (["sweep", "TINY", "--out", ""], "--out"),
        (["sweep", "TINY", "--out="], "--out"),
    ],
)
def test_an_empty_argument_is_no_folder(said, tiny_yaml, tmp_path, monkeypatch, arguments, option):
    monkeypatch.chdir(tmp_path)
    code, out, err = said(*(str(tiny_yaml) if one == "TINY" else one for one in arguments))
    assert code == 2 and out == "" and f"{option}: is empty" in err and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["corpus", "generate", "made", "--domains", ","], "--domains"),
        (["corpus", "generate", "made", "--abilities", " , "], "--abilities"),
        (["evaluate", "bm25", "--corpus", "GOLDEN", "--suite", ","], "--suite"),
        (["evaluate", "bm25", "--corpus", "GOLDEN", "--dimensions", ","], "--dimensions"),
        (["evaluate", "bm25", "--corpus", "GOLDEN", "--precision", ","], "--precision"),
    ],
)
def test_a_list_of_nothing_is_not_the_default(said, golden, tmp_path, monkeypatch, arguments, option):
    monkeypatch.chdir(tmp_path)
    code, _, err = said(*(golden if one == "GOLDEN" else one for one in arguments))
    assert code == 2 and f"{option}: takes words separated by commas" in err and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["evaluate", "bm25", "--corpus", "GOLDEN", "--out"], "--out"),
        (["evaluate", "bm25", "--corpus", "GOLDEN", "--runs"], "--runs"),
        (["evaluate", "bm25", "--corpus", "GOLDEN", "--per-query"], "--per-query"),
        (["compare", "a", "b", "--out"], "--out"),
        (["corpus", "check", "GOLDEN", "--figure"], "--figure"),
        (["init"], "FILE"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_work(said, golden, tmp_path, arguments, option):
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe.png")
    arguments = [golden if one == "GOLDEN" else one for one in arguments]
    for target, why in (("file/x.png", "is no folder"), ("pipe.png", "is no folder" if option in ("--out", "--runs") else "is a pipe"),
                        ("x" * 300 + ".png", "longer than 255 bytes")):  # fmt: skip
        code, out, err = said(*arguments, tmp_path / target)
        assert code == 2 and out == "" and f"error {option}: {tmp_path / target} cannot be written: " in err and why in err, err


def test_two_evaluations_are_not_mixed_in_a_folder(said, golden, tmp_path):
    out = tmp_path / "out"
    asked = ("evaluate", "bm25", "--corpus", golden, "--out", out)
    assert said(*asked, "--suite", "q2c,q2d")[0] == 0
    (out / "notes.txt").write_text("mine")
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    code, _, err = said(*asked, "--suite", "q2c")
    assert code == 2 and "--out:" in err and "holds an evaluation already (per-query.parquet" in err and "--overwrite" in err
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before
    assert said(*asked, "--suite", "q2c", "--overwrite")[0] == 0
    fresh = tmp_path / "fresh"
    assert said("evaluate", "bm25", "--corpus", golden, "--out", fresh, "--suite", "q2c")[0] == 0
    names = [sorted(str(path.relative_to(place)) for path in place.rglob("*")) for place in (out, fresh)]
    assert names[0] == sorted([*names[1], "notes.txt"])


def test_a_corpus_that_is_named_twice_is_no_second_task(said, golden):
    code, out, err = said("evaluate", "bm25", "--corpus", golden, "--corpus", f"{golden}/.", "--suite", "q2d")
    assert code == 2 and out == "" and f"--corpus: names {golden} twice" in err


def test_a_plan_tells_all_that_is_wrong_at_once_with_lines(said, tmp_path):
    path = tmp_path / "sweep.yaml"
    path.write_text(
        "name: x\ncorpora: {train: nowhere, dev: [none]}\nstudent: {layers: 99}\nteacher: {kind: file, path: scores.parquet}\n"
        "recipe: {wieght: 0.5}\nserach: {trials: 2}\nresources: {gpus: 64, memory: 1.0e+6}\n"
    )
    code, out, err = said("plan", path)
    assert code == 2 and out == ""
    for words in ("1: search: this key is missing", "6: serach: unknown key", "5: recipe.wieght: unknown key",  # the file itself
                  f"2: corpora.train: {tmp_path}/nowhere: no such", f"2: corpora.dev: {tmp_path}/none: no such",  # what it names
                  "3: student.layers: 99 asked", f"4: teacher.path: {tmp_path}/scores.parquet is no file",
                  "7: resources.gpus: 64 asked", "7: resources.memory: 1e+06 GB asked"):  # fmt: skip
        assert f"{path}:{words}" in err, words
    path.write_text(path.read_text().replace("layers: 99", "layers: none"))
    err = said("plan", path)[2]
    assert "3: student.layers: a whole number is needed (found" in err and "corpora.train" in err and "asked, minilm has" not in err


def test_a_corpus_too_small_to_cut_is_told_by_the_key(said, golden, tmp_path):
    path = tmp_path / "sweep.yaml"
    shutil.copytree(golden, tmp_path / "small")
    lines = (tmp_path / "small" / "documents.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "small" / "documents.jsonl").write_text(lines[0])
    (tmp_path / "small" / "queries.jsonl").write_text("")
    path.write_text("name: x\ncorpora: {folder: small}\nsearch: {trials: 2}\n")
    code, _, err = said("plan", path)
    assert code == 2 and f"{path}:2: corpora.folder: small: has 1 families" in err


def test_more_warm_up_and_decay_than_steps_is_warned_of(said, tmp_path):
    path = tmp_path / "sweep.yaml"
    path.write_text("name: x\ncorpora: {generate: quick}\nsearch: {trials: 2}\nrecipe:\n  steps: {choice: [8, 60]}\n  warmup_steps: 5\n"
                    "  decay_steps: 9\n")  # fmt: skip
    code, out, _ = said("plan", path)
    assert code == 0 and "warning: recipe.steps: 8 steps cannot hold warmup_steps 5 and decay_steps 9" in out


@pytest.mark.parametrize(("uri", "reason"), [("http://127.0.0.1:9", "Connection refused"), ("http://nowhere.invalid", "Failed to resolve")])
def test_an_mlflow_server_that_is_not_there_is_a_short_line(said, tmp_path, uri, reason):
    made_ledgers.begin(tmp_path)
    code, out, err = said("sync", tmp_path, "--uri", uri)
    assert code == 1 and out == "" and err.startswith(f"error MLflow ({uri}): does not answer: {reason}") and len(err) < 150


def test_a_name_with_a_path_in_it_stays_in_runs():
    assert [str(runs_folder(name)) for name in ("..", "../up", "a/b", ".", "/etc")] == [
        "runs/sweep", "runs/..-up", "runs/a-b", "runs/sweep", "runs/-etc"
    ]  # fmt: skip


@pytest.mark.parametrize(("uri", "word"), [("zzz", "begins with one of http"), ("sqlite:////nowhere/x.db", "/nowhere is no folder")])
def test_a_store_that_cannot_be_is_refused_where_it_is_named(said, uri, word, tmp_path):
    made_ledgers.begin(tmp_path)
    code, _, err = said("sync", tmp_path, "--uri", uri)
    assert code == 2 and "--uri" in err and word in err


def test_or_start_belongs_to_resume(said, tiny_yaml, tmp_path):
    code, _, err = said("sweep", tiny_yaml, "--out", tmp_path / "out", "--or-start")
    assert code == 2 and "--or-start: goes with --resume" in err and not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", [b"", b"{", b"\xff"])
def test_a_damaged_note_of_how_splits_were_made_names_the_file(said, tiny_yaml, content, tmp_path):
    out = tmp_path / "out"
    assert said("prepare", tiny_yaml, "--out", out)[0] == 0
    (out / "corpora" / "made_by.json").write_bytes(content)
    code, _, err = said("prepare", tiny_yaml, "--out", out)
    assert code == 2 and "made_by.json: is damaged" in err


@pytest.mark.parametrize("content", ["[]", "null", '{"num_hidden_layers": "x"}', '{"hidden_size": "x"}', '{"max_position_embeddings": null}'])
def test_an_encoder_whose_config_says_no_sizes(said, content, tmp_path):
    path = sweep_file(tmp_path)
    (tmp_path / "encoder" / "config.json").write_text(content)
    code, _, err = said("plan", path)
    assert code == 2 and "student.encoder" in err and "config.json cannot be read" in err
