"""`stockpot init`: what it writes passes `plan`, suits the corpus, and overwrites nothing."""

from __future__ import annotations

import json
from functools import partial

import pytest
import yaml
from jsonschema import Draft202012Validator

from corpora import native
from corpora.documents import Corpus, Document, Query, Target
from sweeps import config
from sweeps.plan import plan
from sweeps.schema import schema
from tests.sweeps.tiny_sweep import save_encoder


@pytest.fixture
def encoder(tmp_path):
    return save_encoder(tmp_path / "encoder")


@pytest.fixture
def said(said, monkeypatch, tmp_path):
    """Runs `stockpot init ARGUMENTS` in an empty folder: (exit code, stdout, stderr on one line)."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return partial(said, "init")


def a_corpus(folder, documents: int = 60, sentences: int = 8, answer: int = 1, start: int = 0, language: str | None = "en", answers: bool = True):
    """Documents of `sentences` short sentences; each query's answer is `answer` of them."""
    made, queries = [], []
    for number in range(start, start + documents):
        said = [f"Paragraph {number} says in line {line} that item {number * 31 + line} costs {line} pounds." for line in range(sentences)]
        text = " ".join(said)
        made.append(Document(f"d{number}", text, family=f"f{number}", language=language))
        span = (0, len(" ".join(said[:answer])))
        queries.append(Query(f"q{number}", f"what costs item {number * 31}?", (Target(f"d{number}", 1, (span,) if answers else ()),)))
    native.write(Corpus(folder.name, tuple(made), tuple(queries)), folder)
    return folder


def written(name: str = "sweep.yaml") -> dict:
    content = yaml.safe_load(open(name, encoding="utf-8"))
    assert list(Draft202012Validator(schema()).iter_errors(content)) == []
    return content


def test_the_built_in_corpus_is_the_default_and_the_file_passes_plan(said, encoder):
    code, out, err = said("--encoder", encoder)
    assert (code, out) == (0, "sweep.yaml\n") and "stockpot sweep sweep.yaml" in err
    assert written()["corpora"] == {"generate": "demo", "seed": 0}
    assert plan(config.load("sweep.yaml")).estimate.trials == 8


def test_it_looks_at_the_corpus_and_says_why(said, encoder, tmp_path):
    folder = a_corpus(tmp_path / "letters & bills")
    code, *_ = said("--corpus", folder, "--encoder", encoder, "--trials", 3, "--slots", 1, "--steps", 9)
    content = written()
    assert code == 0 and content["name"] == "letters & bills"
    assert content["corpora"]["shares"] == {"train": 0.4, "dev": 0.2, "confirm": 0.4}  # 24 of 60 families
    assert content["search"]["sampler"] == "random" and content["search"]["trials"] == 3
    assert content["resources"]["slots"] == 1 and content["recipe"]["steps"] == 9
    assert content["evaluation"]["chunking"] == "sentence" and "chunk-size" in content["evaluation"]["suites"]
    text = open("sweep.yaml").read()
    assert "60 documents of about" in text and "60 queries, 60 with answers" in text and "60 families; certifying needs 20" in text
    assert config.load("sweep.yaml").corpora.folder == str(folder)


def test_answers_of_many_sentences_are_looked_for_in_windows(said, encoder, tmp_path):
    said("--corpus", a_corpus(tmp_path / "c", sentences=12, answer=4), "--encoder", encoder)
    content = written()
    assert content["evaluation"]["chunking"] == "tokens:128" and content["recipe"]["chunking_mix"] == {"tokens:128": 1}
    assert "100% of the answers lie in no single sentence" in open("sweep.yaml").read()


def test_long_documents_make_small_batches_in_passes(said, encoder, tmp_path):
    said("--corpus", a_corpus(tmp_path / "c", documents=40, sentences=400), "--encoder", encoder)
    recipe = written()["recipe"]
    assert 2 <= recipe["documents_per_batch"] < 16 and recipe["documents_per_pass"] < recipe["documents_per_batch"]
    assert "chunk-size" not in written()["evaluation"]["suites"]


def test_without_answers_documents_are_all_there_is(said, encoder, tmp_path):
    said("--corpus", a_corpus(tmp_path / "c", answers=False), "--encoder", encoder)
    content = written()
    assert content["evaluation"]["suites"] == ["q2d"] and content["search"]["objectives"] == [{"metric": "q2d/nDCG@10"}]
    assert content["recipe"]["weight"] == 0 and content["scheduler"]["kind"] == "none"


def test_splits_of_their_own_and_another_language(said, encoder, tmp_path):
    folders = {split: a_corpus(tmp_path / split, start=1000 * place, language="de") for place, split in enumerate(("train", "dev", "confirm"))}
    options = [part for split, folder in folders.items() for part in (f"--{split}", folder)]
    assert said(*options, "--encoder", encoder)[0] == 0
    assert set(written()["corpora"]) == {"train", "dev", "confirm"}
    assert "(de 60)" in open("sweep.yaml").read()
    assert plan(config.load("sweep.yaml")).splits["confirm"].documents == 60


def test_nothing_is_overwritten_without_force(said, encoder):
    open("sweep.yaml", "w").write("mine")
    code, out, err = said("--encoder", encoder)
    assert code == 2 and "--force" in err and open("sweep.yaml").read() == "mine"
    assert said("--encoder", encoder, "--force")[0] == 0 and written()["name"] == "built-in"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--corpus", "nowhere"], "--corpus: nowhere is no folder"),
        (["--train", "."], "--dev: is missing"),
        (["--dev", "."], "--train: is missing"),
        (["--corpus", ".", "--confirm", "."], "--corpus: is cut into"),
        (["--teacher", "oracle"], "--teacher: is one of spans"),
        (["--teacher", "file"], "--teacher: is one of spans"),
        (["--teacher", "file:none.parquet"], "none.parquet is no file"),
        (["--encoder", "nowhere"], "nowhere"),
    ],
)
def test_wrong_wishes_are_told_and_leave_no_file(said, encoder, tmp_path, options, words):
    given = options if "--encoder" in options else [*options, "--encoder", encoder]
    code, out, err = said(*given)
    assert code == 2 and out == "" and words in err, err
    assert list((tmp_path / "here").iterdir()) == []


def test_a_folder_that_is_not_there_is_not_made(said, encoder, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["stockpot"])
    code, _, err = said("nowhere/sweep.yaml", "--encoder", encoder)
    assert code == 2 and "FILE: nowhere/sweep.yaml cannot be written: there is no folder" in err
    assert not (tmp_path / "here" / "nowhere").exists()


def test_a_folder_of_splits_is_told_from_a_corpus(said, encoder, tmp_path):
    a_corpus(tmp_path / "cut" / "train", documents=3)
    a_corpus(tmp_path / "cut" / "dev", documents=3, start=3)
    code, _, err = said("--corpus", tmp_path / "cut", "--encoder", encoder)
    assert code == 2 and f"holds the splits dev, train: give each by its option, as in --train {tmp_path}/cut/train" in err


def test_a_corpus_without_queries_is_refused(said, encoder, tmp_path):
    (tmp_path / "texts").mkdir()
    lines = (json.dumps({"id": str(n), "text": f"Text {n}, which nobody asks for."}) + "\n" for n in range(30))
    (tmp_path / "texts" / "documents.jsonl").write_text("".join(lines))
    (tmp_path / "texts" / "queries.jsonl").write_text("")
    code, _, err = said("--corpus", tmp_path / "texts", "--encoder", encoder)
    assert code == 2 and "no query: there is nothing to learn from it" in err
    assert list((tmp_path / "here").iterdir()) == []


def test_on_a_terminal_it_asks_what_no_option_says(said, encoder, monkeypatch):
    asked = []

    def answer(question: str, default: object, **how: object) -> object:
        asked.append(question)
        return 5 if question == "Trials" else default

    monkeypatch.setattr("typer.prompt", answer)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert said("--encoder", encoder, "--gpus", "0")[0] == 0
    assert written()["search"]["trials"] == 5
    assert asked[0].startswith("Folder of your corpus") and not any(each.startswith(("Encoder", "GPUs")) for each in asked)


def test_the_schema_goes_to_stdout_and_nothing_is_written(said, tmp_path):
    code, out, _ = said("--schema")
    assert code == 0 and json.loads(out) == schema() and list((tmp_path / "here").iterdir()) == []
