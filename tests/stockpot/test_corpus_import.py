"""`stockpot corpus import` as a user meets it: what is kept, repaired and dropped, and what is refused."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from corpora import native
from tests.stockpot.corpus_folders import ADA, SMALL, leftovers, write


@pytest.mark.parametrize(
    "form, source, kept, repaired, dropped",
    [
        ("squad", "covid_qa/data/question-answering/200423_covidQA.json", (98, 1380, 1380),
         {"answer: edge white space": 184, "answer: edge white space that the offset does not count": 196, "answer: shifted offset": 38}, 0),
        ("squad", "xquad/xquad.de.json", (48, 1190, 1190), {}, 0),
        ("span-csv", "chroma_chunking_evaluation/chunking_evaluation/evaluation_framework/general_evaluation_data/questions_df.csv", (5, 472, None),
         {"answer: edge white space": 217}, 0),
    ],
)  # fmt: skip
def test_published_files_become_corpora_that_check_takes(corpus_command, shared, tmp_path, form, source, kept, repaired, dropped):
    said = corpus_command("import", form, shared / "formats" / source, tmp_path / "out", "--json")
    assert said.code == 0 and "reading" in said.err
    assert said.json == json.loads((tmp_path / "out/import.json").read_text())
    counts = said.json["kept"]
    assert (counts["documents"], counts["queries"]) == kept[:2] and kept[2] in (None, counts["answers"])
    assert said.json["repaired"] == repaired and sum(said.json["dropped"].values()) == dropped
    assert corpus_command("import", form, shared / "formats" / source, tmp_path / "strict", "--strict").code == (2 if repaired else 0)
    assert (tmp_path / "strict").exists() == (not repaired)


def test_the_report_says_what_was_repaired_and_dropped(corpus_command, tmp_path):
    answers = [{"text": " Ada", "answer_start": 0}, {"text": "Cyd", "answer_start": 3}]
    question = {"id": 1, "question": "Who?", "answers": answers}
    (tmp_path / "s.json").write_text(json.dumps({"data": [{"title": 7, "paragraphs": [{"context": ADA["text"], "qas": [question]}]}]}))
    said = corpus_command("import", "squad", tmp_path / "s.json", tmp_path / "out")
    assert said.code == 0
    assert "kept 1 documents, 1 queries, 1 answers" in said.out
    assert "repaired 1 answer: edge white space that the offset does not count" in said.out
    assert "as at s.json: data[0].paragraphs[0].qas[0].answers[0]: \" Ada\" -> \"Ada\"" in said.out
    assert "dropped 1 answer: stands nowhere in the text" in said.out
    assert corpus_command("check", tmp_path / "out").code == 0
    strict = corpus_command("import", "squad", tmp_path / "s.json", tmp_path / "strict", "--strict")
    assert strict.code == 2 and not strict.out
    assert "edge white space" in strict.err and "stands nowhere" in strict.err
    assert leftovers(tmp_path) == ["out", "s.json"]


@pytest.mark.parametrize(
    "content, said",
    [
        (b'{"data": [\n  {"title": "x",\n', "broken JSON at line 3, column 1"),
        (b'{"data": [{"paragraphs": [{"context": "a\xff"}]}]}', "invalid UTF-8 at byte 41"),
        (b'\xff\xfe{\x00', "is UTF-16"),
        (gzip.compress(b'{"data": []}', mtime=0), "is compressed"),
        (b"", "broken JSON"),
        (b'{"data": NaN}', "holds NaN"),
        (b'{"data": ' + b"[" * 100_000, "nested too deeply"),
        (b'[{"context": "Ada", "question": "?", "answers": {"text": ["Ada"], "answer_start": [0]}}, 3]', "is no object"),
        (b'{"data": [{"paragraphs": "x"}]}', "data[0].paragraphs: must be a list"),
    ],
)  # fmt: skip
def test_broken_json_is_refused_and_nothing_written(corpus_command, tmp_path, content, said):
    (tmp_path / "s.json").write_bytes(content)
    found = corpus_command("import", "squad", tmp_path / "s.json", tmp_path / "out")
    assert found.code == 2 and not found.out
    assert "s.json" in found.err and said in found.err
    assert leftovers(tmp_path) == ["s.json"]


def test_a_byte_order_mark_is_no_mistake(corpus_command, tmp_path):
    (tmp_path / "s.json").write_bytes(b'\xef\xbb\xbf{"data": [{"title": "t", "paragraphs": [{"context": "Ada."}]}]}')
    assert corpus_command("import", "squad", tmp_path / "s.json", tmp_path / "out").code == 0
    (tmp_path / "out/documents.jsonl").write_bytes(b"\xef\xbb\xbf" + (tmp_path / "out/documents.jsonl").read_bytes())
    assert corpus_command("check", tmp_path / "out").code == 0


@pytest.mark.parametrize(
    "answers, reason",
    [
        ({"text": ["Ada", "rent"], "answer_start": [0]}, "no `text` with a whole number `answer_start`"),
        ({"text": "Ada", "answer_start": 0}, None),
        ({"start": 0}, "no `text` with a whole number `answer_start`"),
        ("Ada", "no `text` with a whole number `answer_start`"),
        ([{"text": "rent", "answer_start": 13}], None),
    ],
)
def test_flat_answers_of_any_shape_are_kept_or_told(corpus_command, tmp_path, answers, reason):
    rows = [{"id": "q", "title": ["no", "text"], "context": ADA["text"], "question": "Who?", "answers": answers}]
    (tmp_path / "s.json").write_text(json.dumps(rows))
    said = corpus_command("import", "squad", tmp_path / "s.json", tmp_path / "out", "--json")
    assert said.code == 0
    assert list(said.json["dropped"]) == ([f"answer: {reason}"] if reason else [])
    assert native.read(tmp_path / "out").documents[0].text == ADA["text"]


def test_queries_without_ids_in_several_files_are_dropped_as_in_one(corpus_command, tmp_path):
    (tmp_path / "set").mkdir()
    for name in "ab":
        questions = [{"question": "Who?", "answers": []}, {"id": 0, "question": "Why?", "answers": []}]
        (tmp_path / f"set/{name}.json").write_text(json.dumps({"data": [{"title": name, "paragraphs": [{"context": "Ada.", "qas": questions}]}]}))
    said = corpus_command("import", "squad", tmp_path / "set", tmp_path / "out", "--json")
    assert said.json["dropped"] == {"query: empty id": 2}
    assert [query.id for query in native.read(tmp_path / "out").queries] == ["a/0", "b/0"]


def test_a_folder_named_like_a_table_is_read_once(corpus_command, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, rows in (("documents", [{"chunk_id": "d_0", "chunk": "Ada."}]), ("queries", [{"query": "Who?", "chunk_id": "d_0"}])):
        (tmp_path / f"set/{name}.parquet").mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / f"set/{name}.parquet/part-0.parquet")
    said = corpus_command("import", "conteb", tmp_path / "set", tmp_path / "out", "--json")
    assert said.code == 0 and said.json["kept"]["queries"] == 1 and not said.json["entries"]


def test_tables_that_are_no_tables(corpus_command, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    bad = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xff")])
    pq.write_table(pa.table({"context": bad}), tmp_path / "utf8.parquet")
    (tmp_path / "empty.parquet").write_bytes(b"")
    (tmp_path / "empty.arrow").write_bytes(b"")
    for name, said in (("utf8.parquet", "no readable parquet"), ("empty.parquet", "no readable parquet"), ("empty.arrow", "no readable Arrow")):
        found = corpus_command("import", "squad", tmp_path / name, tmp_path / "out")
        assert found.code == 2 and said in found.err, found.err


def test_links_do_not_lead_out_of_a_folder(corpus_command, tmp_path):
    (tmp_path / "secret.jsonl").write_text(json.dumps({"_id": "s", "text": "secret"}) + "\n")
    folder = tmp_path / "set"
    (folder / "qrels").mkdir(parents=True)
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq\ts\t1\n")
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "?"}) + "\n")
    (folder / "corpus.jsonl").symlink_to(tmp_path / "secret.jsonl")
    said = corpus_command("import", "beir", folder, tmp_path / "out")
    assert said.code == 2 and "is a link out of the folder" in said.err
    (folder / "documents.jsonl").symlink_to(tmp_path / "secret.jsonl")
    said = corpus_command("import", "conteb", folder, tmp_path / "out")
    assert said.code == 2 and "is a link out of the folder" in said.err
    assert not (tmp_path / "out").exists()


def test_a_text_folder_with_everything_but_text(corpus_command, tmp_path):
    folder, outside = tmp_path / "texts", tmp_path / "outside"
    (folder / "sub").mkdir(parents=True)
    outside.mkdir()
    (outside / "o.txt").write_text("secret")
    (folder / "sub/a.txt").write_text("Ada pays.")
    (folder / "empty.txt").write_text("")
    (folder / "z.gz").write_bytes(gzip.compress(b"text"))
    (folder / "out").symlink_to(outside)
    (folder / "again").symlink_to(folder / "sub")
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "gone").symlink_to(folder / "nothing")
    os.mkfifo(folder / "pipe")
    Path(os.fsdecode(bytes(folder) + b"/\xff.txt")).write_text("a name that is no text")
    said = corpus_command("import", "text", folder, tmp_path / "dst", "--json")
    assert said.code == 0
    assert said.json == json.loads((tmp_path / "dst/import.json").read_text())
    assert {entry["where"]: entry["reason"] for entry in said.json["entries"]} == {
        "again": "a link to a folder that is read already",
        "empty.txt": "empty text",
        "gone": "is no file, or a link to none",
        "loop": "is no file, or a link to none",
        "out": "a link out of the folder",
        "pipe": "is no file, or a link to none",
        "z.gz": "is compressed: decompress it",
        "\udcff.txt": "half of a surrogate pair, which no UTF-8 text holds",
    }
    assert [document.id for document in native.read(tmp_path / "dst").documents] == ["sub/a.txt"]


def test_a_corpus_is_not_imported_as_text(corpus_command, tmp_path):
    said = corpus_command("import", "text", write(tmp_path / "c", [ADA]), tmp_path / "out")
    assert said.code == 2 and "is a corpus in the native format already" in said.err
    assert leftovers(tmp_path) == ["c"]


@pytest.mark.parametrize("form, near", [("sqaud", "squad"), ("csv", "span-csv")])
def test_an_unknown_format_is_told_its_neighbour(corpus_command, tmp_path, form, near):
    said = corpus_command("import", form, tmp_path, tmp_path / "out")
    assert said.code == 2 and f"did you mean '{near}'" in said.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(corpus_command, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    said = corpus_command("generate", closed / "dst", *SMALL)
    assert said.code == 2 and "no permission" in said.err


def test_a_name_that_no_disk_takes(corpus_command, tmp_path):
    said = corpus_command("generate", tmp_path / ("x" * 300), *SMALL)
    assert said.code == 1 and not said.out and "file name too long" in said.err
    assert leftovers(tmp_path) == []
