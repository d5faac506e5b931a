"""`stockpot corpus check` as a user meets it: everything wrong at once, with lines."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from corpora import native
from tests.stockpot.corpus_folders import ADA, write

ROOT = Path(__file__).parents[2]


def test_check_takes_a_real_corpus_and_its_tokens(corpus_command, shared):
    said = corpus_command("check", shared / "corpora/evidence-inference", "--json")
    assert said.code == 0 and said.json["problems"] == []
    figures = said.json["statistics"]["evidence-inference"]
    lines = (shared / "corpora/evidence-inference/documents.jsonl").read_bytes().splitlines()
    assert figures["documents"] == len(lines)
    assert list(figures["queries whose answer is cut"]) == ["tokens:64", "tokens:128", "tokens:256", "tokens:512"]


def test_check_says_everything_at_once_with_lines(corpus_command, tmp_path):
    documents = [ADA, ADA, {"id": "c", "text": " \n"}, {"id": "../d", "text": "Dee.", "chunks": [[0, 99]]}]
    queries = [
        {"id": "q", "text": "Who?", "targets": [{"document": "a", "answers": [[0, 99], [3, 4], [2, 2]]}]},
        {"id": "q", "text": "Who?", "targets": [{"document": "nowhere"}]},
        {"id": "r", "text": "Who?", "targets": []},
        {"id": "s", "text": "Who?", "targets": [{"document": "a", "answers": [[0, 3]], "quotes": ["Ben"]}], "tragets": 1},
    ]
    folder = write(tmp_path / "c", documents, queries)
    said = corpus_command("check", folder, "--json")
    assert said.code == 2
    found = [f"{problem['where']}: {problem['message']}" for problem in said.json["problems"]]
    assert [line.split(":")[1] for line in found] == ["2", "3", "4", "1", "1", "1", "2", "2", "3", "4", "4"]
    assert "refused: 11 problems, listed on stdout" in said.err and not any(line in said.err for line in found)
    for part in ("stands already at documents.jsonl:1", "lies outside", "is white space", "is empty", "is not in documents.jsonl",
                 "targets is missing or empty", "did you mean 'targets'"):  # fmt: skip
        assert any(part in line for line in found)
    plain = corpus_command("check", folder)
    assert all(f"refused: {line}" in plain.out for line in found) and not any(line in plain.err for line in found)


@pytest.mark.parametrize(
    "documents, said",
    [
        (b'{"id": "a", "text": "Ada"', "documents.jsonl:1: broken JSON"),
        (b'{"id": "a", "text": "Ada"}\n{"id": "b", "text": "B\xff"}', "documents.jsonl:2: invalid UTF-8"),
        (b'{"id": "a", "text": "Ada", "chunks": [[0, NaN]]}', "documents.jsonl:1: holds NaN"),
        (b'{"id": "a", "text": "Ada", "chunks": ' + b"[" * 100_000, "documents.jsonl:1: JSON is nested too deeply"),
        (b'{"id": "a", "text": "Ada", "chunks": [[0, 1' + b"0" * 5000 + b"]]}", "documents.jsonl:1: holds a number of thousands"),
        (b'{"id": "a", "text": "\\ud83d"}', "documents.jsonl:1: a \\u escape is half"),
        (b'{"id": "a", "text": "Ada", "id": "b"}', "documents.jsonl:1: key 'id' stands twice"),
        (b'[1, 2]\n"x"', "documents.jsonl:2: holds a string"),
        (gzip.compress(json.dumps(ADA).encode(), mtime=0), "documents.jsonl: is compressed"),
        (json.dumps(ADA).encode("utf-16"), "documents.jsonl: is UTF-16"),
        (b"", "documents.jsonl: holds no document"),
        (b"\n\n", "documents.jsonl: holds no document"),
    ],
)
def test_broken_documents_are_refused(corpus_command, tmp_path, documents, said):
    found = corpus_command("check", write(tmp_path / "c", documents), "--json")
    assert found.code == 2 and said in "\n".join(f"{one['where']}: {one['message']}" for one in found.json["problems"])
    assert found.json["problems"] and found.json["statistics"] == {}


def test_line_ends_of_every_kind_keep_their_numbers(corpus_command, tmp_path):
    lines = [json.dumps({"id": str(number), "text": "Ada."}).encode() for number in range(3)]
    folder = write(tmp_path / "c", lines[0] + b"\r\n" + lines[1] + b"\r" + lines[2] + b"\n\n{")
    said = corpus_command("check", folder)
    assert said.code == 2 and "documents.jsonl:5: broken JSON" in said.out


@pytest.mark.parametrize("what", ["nothing", "file", "empty folder", "only documents", "loop", "long name"])
def test_check_of_what_is_no_corpus(corpus_command, tmp_path, what):
    place = tmp_path / ("x" * 300 if what == "long name" else "c")
    if what == "file":
        place.write_text("x")
    elif what == "loop":
        place.symlink_to(place)
    elif what in ("empty folder", "only documents"):
        place.mkdir()
        if what == "only documents":
            (place / "documents.jsonl").write_text(json.dumps(ADA))
    said = corpus_command("check", place)
    assert said.code == (1 if what == "long name" else 2)
    assert str(place)[-20:] in said.out + said.err or "no such file in" in said.out


def test_warnings_alone_are_no_failure(corpus_command, tmp_path):
    said = corpus_command("check", write(tmp_path / "c", [ADA, {**ADA, "id": "twin"}]))
    assert said.code == 0 and "warning: documents.jsonl:2" in said.out and "twin" not in said.err


def test_the_example_of_the_page_is_a_corpus(corpus_command, tmp_path):
    page = (ROOT / "docs/corpora.md").read_text(encoding="utf-8")
    documents, queries = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    folder = write(tmp_path / "c", documents.encode(), queries.encode())
    assert corpus_command("check", folder).code == 0
    target = native.read(folder).queries[0].targets[0]
    (((start, end),),) = target.evidence[0]
    assert native.read(folder).documents[0].text[start:end] == "This lease is held by Ada Moor."


def test_check_draws_its_histograms(corpus_command, tmp_path):
    folder = write(tmp_path / "c", [ADA], [{"id": "q", "text": "Who?", "targets": [{"document": "a", "answers": [[0, 3]]}]}])
    said = corpus_command("check", folder, "--figure", tmp_path / "f.png")
    assert said.code == 0 and (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")
    said = corpus_command("check", folder, "--figure", tmp_path / "f.svg")
    assert said.code == 2 and "ends in .png" in said.err and not (tmp_path / "f.svg").exists()


@pytest.mark.parametrize("content", [None, b"{", b"{}"])
def test_a_tokenizer_that_is_none(corpus_command, tmp_path, content):
    if content is not None:
        (tmp_path / "tokenizer.json").write_bytes(content)
    said = corpus_command("check", write(tmp_path / "c", [ADA]), "--tokenizer", tmp_path)
    assert said.code == 2 and "tokenizer.json" in said.err
