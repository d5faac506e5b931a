"""`stockpot corpus` as a user meets it: what it prints, where, with which exit code, and what it leaves behind."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from corpora import native
from corpora.documents import Corpus, Document, Query, Target
from corpora.generator import GeneratorSettings, chance, generate
from corpora.splits import thaw
from stockpot.cli import main

ROOT = Path(__file__).parents[2]
SMALL = ("--documents", "40", "--siblings", "4", "--candidates", "8", "--length", "1", "--domains", "leases,manuals",
         "--abilities", "entity identity", "--abilities", "section scope")  # fmt: skip


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict:
        return json.loads(self.out)


@pytest.fixture
def corpus_command(capsys, monkeypatch):
    """Runs `stockpot corpus ...` in this process, through the console script's own `main`."""

    def run(*arguments: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["stockpot", "corpus", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return Said(ended.value.code, said.out, said.err)

    return run


def write(folder: Path, documents: list | bytes, queries: list | bytes = b"") -> Path:
    folder.mkdir(parents=True)
    for name, content in (("documents", documents), ("queries", queries)):
        if isinstance(content, list):
            content = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in content).encode()
        (folder / f"{name}.jsonl").write_bytes(content)
    return folder


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


ADA = {"id": "a", "text": "Ada pays the rent."}


# import


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


def test_check_takes_a_real_corpus_and_its_tokens(corpus_command, shared):
    said = corpus_command("check", shared / "corpora/evidence-inference", "--json")
    assert said.code == 0 and said.json["problems"] == []
    figures = said.json["statistics"]["evidence-inference"]
    lines = (shared / "corpora/evidence-inference/documents.jsonl").read_bytes().splitlines()
    assert figures["documents"] == len(lines)
    assert list(figures["queries whose answer is cut"]) == ["tokens:64", "tokens:128", "tokens:256", "tokens:512"]


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


@pytest.mark.parametrize("form, near", [("sqaud", "squad"), ("csv", "span-csv")])
def test_an_unknown_format_is_told_its_neighbour(corpus_command, tmp_path, form, near):
    said = corpus_command("import", form, tmp_path, tmp_path / "out")
    assert said.code == 2 and f"did you mean '{near}'" in said.err


# destinations


@pytest.mark.parametrize("command", ["import", "generate", "split"])
@pytest.mark.parametrize("taken", ["folder", "file", "link", "under a file"])
def test_what_is_there_is_never_overwritten(corpus_command, tmp_path, command, taken):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/a.txt").write_text("Ada pays.")
    native_corpus = write(tmp_path / "corpus", [ADA, {"id": "b", "text": "Ben owes nothing at all."}])
    destination = tmp_path / "dst"
    if taken == "folder":
        destination.mkdir()
        (destination / "keep").write_text("mine")
    elif taken == "link":
        destination.symlink_to(tmp_path / "nowhere")
    else:
        destination.write_text("mine")
    where = destination / "sub/deeper" if taken == "under a file" else destination
    arguments = {
        "import": ("text", tmp_path / "texts", where),
        "generate": (where, *SMALL),
        "split": (native_corpus, where, "--shares", "train=0.5,dev=0.5"),
    }
    before = leftovers(tmp_path)
    said = corpus_command(command, *arguments[command])
    assert said.code == 2 and not said.out
    assert ("is no folder" if taken == "under a file" else "exists already") in said.err
    assert leftovers(tmp_path) == before
    if taken == "folder":
        assert (destination / "keep").read_text() == "mine"


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


# check


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


# generate, split


def test_generate_writes_what_its_settings_remake(corpus_command, tmp_path):
    said = corpus_command("generate", tmp_path / "g", "--seed", "5", *SMALL, "--json")
    assert said.code == 0
    made = json.loads((tmp_path / "g/generator.json").read_text())
    assert said.json["settings"] == made and made["abilities"] == ["entity identity", "section scope"]
    settings = GeneratorSettings(**{name: value for name, value in made.items() if name != "seed"})
    assert native.read(tmp_path / "g").sha256 == generate(settings, made["seed"]).sha256 == said.json["sha256"]
    assert said.json["chance"] == {str(k): chance(native.read(tmp_path / "g"), k) for k in (1, 10)}


def test_generate_proves_its_difficulty_with_what_is_installed(corpus_command, tmp_path, monkeypatch):
    monkeypatch.setattr("stockpot.commands.corpus.find_spec", lambda name: None)
    said = corpus_command("generate", tmp_path / "g", *SMALL, "--difficulty", "--json")
    rows = said.json["difficulty"]
    assert [(row["ability"], row["k"], list(row["baselines"])) for row in rows] == [
        (ability, k, ["BM25"]) for k in (1, 10) for ability in ("entity identity", "section scope")
    ]
    assert all(row["reader"] == 1 for row in rows)
    said = corpus_command("generate", tmp_path / "h", *SMALL, "--difficulty")
    assert said.code == 0 and "no encoder" in said.err
    assert "| section scope | 10 | 20 |" in said.out and "no ability is found in single sentences" in said.out


def test_generate_says_all_that_is_wrong(corpus_command, tmp_path):
    said = corpus_command("generate", tmp_path / "g", "--documents", "1", "--siblings", "1", "--length", "99999", "--abilities", "flying")
    assert said.code == 2 and leftovers(tmp_path) == []
    for option in ("--documents", "--siblings", "--length", "--abilities: flying is not allowed"):
        assert option in said.err
    said = corpus_command("generate", tmp_path / "g", "--documents", "5")
    assert said.code == 2 and "do not fill one family" in said.err


def test_generated_splits_share_nothing_and_are_frozen(corpus_command, tmp_path):
    assert corpus_command("generate", tmp_path / "g", *SMALL).code == 0
    said = corpus_command("split", tmp_path / "g", tmp_path / "s", "--seed", "3", "--json")
    assert said.code == 0
    splits = said.json["splits"]
    assert {name: part["documents"] for name, part in splits.items()} == {"train": 24, "dev": 8, "confirm": 8}
    assert sum(part["queries"] for part in splits.values()) == 40
    parts = thaw(tmp_path / "s", native.read(tmp_path / "g"))
    assert {name: part.sha256 for name, part in parts.items()} == {name: native.read(tmp_path / "s" / name).sha256 for name in splits}
    checked = corpus_command("check", tmp_path / "s")
    assert checked.code == 0 and "stands in two splits" in checked.out
    again = corpus_command("split", tmp_path / "g", tmp_path / "again", "--seed", "3", "--json")
    assert again.json["hash"] == said.json["hash"]


def test_leaks_between_splits_are_refused(corpus_command, tmp_path):
    for name in ("train", "dev"):
        native.write(Corpus(name, (Document("a", "Ada pays."),), (Query("q", "Who?", (Target("a"),)),)), tmp_path / "s" / name)
    said = corpus_command("check", tmp_path / "s")
    assert said.code == 2 and "dev and train" in said.out and "document id 'a'" in said.out


@pytest.mark.parametrize(
    "shares, said",
    [
        ("train=0.6,dev=0.6", "sum to 1"),
        ("train", "takes NAME=SHARE"),
        ("train=nan,dev=1", "takes NAME=SHARE"),
        ("../up=0.5,dev=0.5", "takes NAME=SHARE"),
        ("dev=0.5,dev=0.5", "names 'dev' twice"),
        ("train=0.5,dev=0.3,confirm=0.2", "too few"),
    ],
)
def test_shares_that_cannot_be_cut(corpus_command, tmp_path, shares, said):
    folder = write(tmp_path / "c", [ADA, {"id": "b", "text": "Ben owes nothing."}])
    found = corpus_command("split", folder, tmp_path / "s", "--shares", shares)
    assert found.code == 2 and said in found.err
    assert leftovers(tmp_path) == ["c"]


# the process


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_any_terminal_takes_the_report(tmp_path, encoding):
    folder = write(tmp_path / "Straße", [{**ADA, "family": "Müller", "domain": "日本"}])
    ended = subprocess.run(
        [sys.executable, "-c", "from stockpot.cli import main; main()", "corpus", "check", str(folder)],
        capture_output=True, cwd=ROOT, env={**os.environ, "PYTHONIOENCODING": encoding}, timeout=120,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert "domains: 日本 1".encode(encoding, "backslashreplace") in ended.stdout
    assert ended.stderr.startswith(b"checking ")


@pytest.mark.parametrize("command", ["import", "check", "generate", "split"])
def test_help_teaches(corpus_command, command):
    said = corpus_command(command, "--help")
    assert said.code == 0 and "Usage" in said.out


def test_an_unknown_option_is_wrong_usage(corpus_command):
    assert corpus_command("check", "--nonsense").code == 2
