"""Every format on small files made here: what is certain is repaired, what is not is dropped, both are said."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpora import native
from corpora.chunks import chunk_table
from corpora.errors import InputError
from corpora.importers import import_corpus

CONTEXT = "Ada pays the rent. Ben pays the rent. "


def jsonl(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def run(tmp_path, form, source):
    report = import_corpus(form, source, tmp_path / "out")
    return report, native.read(tmp_path / "out")


def squad(tmp_path, answers, **question):
    path = tmp_path / "s.json"
    path.write_text(
        json.dumps(
            {
                "data": [
                    {
                        "title": "A",
                        "paragraphs": [
                            {"context": CONTEXT, "qas": [{"id": 1, "question": "Who?", "answers": answers, **question}]}
                        ],
                    }
                ]
            }
        )
    )
    return path


@pytest.mark.parametrize(
    "text, start, span, reason",
    [
        ("Ada", 0, (0, 3), None),
        (" Ben", 18, (19, 22), "repaired answer: edge white space"),
        (" Ben", 19, (19, 22), "repaired answer: edge white space that the offset does not count"),
        ("Ben", 21, (19, 22), "repaired answer: shifted offset"),
        ("rent", 22, None, "dropped answer: stands several times near its offset"),
        ("Ben", 2, None, "dropped answer: stands elsewhere, far from its offset"),
        ("Ben", -1, None, "dropped answer: stands elsewhere, far from its offset"),
        ("Cyd", 4, None, "dropped answer: stands nowhere in the text"),
        (" ", 3, None, "dropped answer: empty"),
        ("Ada", "0", None, "dropped answer: no `text` with a whole number `answer_start`"),
    ],
)
def test_answers_are_repaired_only_where_certain(tmp_path, text, start, span, reason):
    report, corpus = run(tmp_path, "squad", squad(tmp_path, [{"text": text, "answer_start": start}]))
    assert corpus.queries[0].targets[0].answers == ((span,) if span else ())
    found = [f"{action} {key}" for action in ("repaired", "dropped") for key in report.counts(action)]
    assert found == ([reason] if reason else [])
    if reason:
        assert report.entries[0].where == "s.json: data[0].paragraphs[0].qas[0].answers[0]"
        assert reason in "\n".join(report.lines()).replace(" 1 ", " ")


def test_unanswerable_questions_are_dropped(tmp_path):
    report, corpus = run(tmp_path, "squad", squad(tmp_path, [], is_impossible=True))
    assert not corpus.queries and list(report.counts("dropped")) == [
        "query: unanswerable: its document does not answer it"
    ]


@pytest.mark.parametrize("flagged", [False, True])
def test_unanswerable_rows_are_dropped_where_others_have_answers(tmp_path, flagged):
    def row(name, answers, **more):
        return {"id": name, "title": "T", "context": "Ada pays.", "question": f"Who {name}?", "answers": answers, **more}

    ada, none = {"text": ["Ada"], "answer_start": [0]}, {"text": [], "answer_start": []}
    jsonl(tmp_path / "s.jsonl", [row("a", ada), row("b", ada, is_impossible=True) if flagged else row("b", none)])
    report, corpus = run(tmp_path, "squad", tmp_path / "s.jsonl")
    assert [query.id for query in corpus.queries] == ["a"]
    assert report.counts("dropped") == {"query: unanswerable: its document does not answer it": 1}


def test_rows_without_any_answer_are_for_document_retrieval(tmp_path):
    row = {"id": "a", "context": "Ada pays.", "question": "Who?", "answers": {"text": [], "answer_start": []}}
    jsonl(tmp_path / "s.jsonl", [row, {**row, "id": True}])
    report, corpus = run(tmp_path, "squad", tmp_path / "s.jsonl")
    assert [query.targets[0].answers for query in corpus.queries] == [()]
    assert report.counts("dropped") == {"query: empty id": 1}, "a truth value names nothing"


@pytest.mark.parametrize(("text", "start", "kept"), [("5", 4, ()), ("1950", 4, ((9, 13),)), ("year 195", 1, ((4, 12),))])
def test_no_answer_is_found_again_inside_another_word(tmp_path, text, start, kept):
    rows = [{"id": "a", "context": "The year 1950.", "question": "?", "answers": {"text": [text], "answer_start": [start]}}]
    jsonl(tmp_path / "s.jsonl", rows)
    report, corpus = run(tmp_path, "squad", tmp_path / "s.jsonl")
    assert corpus.queries[0].targets[0].answers == kept
    assert bool(report.counts("dropped")) is not bool(kept)


def test_repeated_ids_are_told_apart(tmp_path):
    article = {
        "title": "A",
        "paragraphs": [
            {"context": "Ada.", "qas": [{"id": 1, "question": "Who?", "answers": [{"text": "Ada", "answer_start": 0}]}]}
        ],
    }
    (tmp_path / "s.json").write_text(json.dumps({"data": [article, article]}))
    report, corpus = run(tmp_path, "squad", tmp_path / "s.json")
    assert [document.id for document in corpus.documents] == ["A", "A~2"]
    assert [(query.id, query.targets[0].document) for query in corpus.queries] == [("1", "A"), ("1~2", "A~2")]
    assert report.counts("repaired") == {"document: id used before": 1, "query: id used before": 1}


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "json"])
def test_squad_as_the_hub_publishes_it(tmp_path, suffix):
    rows = [
        {
            "id": f"q{place}",
            "title": "T",
            "context": context,
            "question": "Who?",
            "answers": {"text": [text], "answer_start": [context.index(text)]},
        }
        for place, (context, text) in enumerate([("Ada pays.", "Ada"), ("Ben pays.", "Ben"), ("Ada pays.", "pays")])
    ]
    path = tmp_path / f"s.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif suffix == "jsonl":
        jsonl(path, rows)
    else:
        path.write_text(json.dumps(rows))
    _, corpus = run(tmp_path, "squad", path)
    assert corpus.documents[0].text == "Ada pays.\n\nBen pays." and corpus.documents[0].chunks == ((0, 9), (11, 20))
    assert {query.id: query.targets[0].answers for query in corpus.queries} == {
        "q0": ((0, 3),),
        "q2": ((4, 8),),
        "q1": ((11, 14),),
    }


def beir(folder, qrels):
    jsonl(
        folder / "corpus.jsonl",
        [
            {"_id": "d1", "title": "One", "text": "first"},
            {"_id": "d2", "title": "", "text": "second"},
            {"_id": "d3", "title": "Three", "text": ""},
        ],
    )
    jsonl(folder / "queries.jsonl", [{"_id": "q1", "text": "which?"}, {"_id": "q2", "text": "what?"}])
    (folder / "qrels").mkdir()
    for name, text in qrels.items():
        (folder / "qrels" / name).write_text(text)
    return folder


def test_beir(tmp_path):
    source = beir(
        tmp_path / "b",
        {
            "test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t-1\nq9\td1\t1\nq1\td3\t1\n"
            "q1\td1\t1\nq1\td2\t0.5\n"
        },
    )
    report, corpus = run(tmp_path, "beir", source)
    assert [(document.id, document.title, document.text) for document in corpus.documents] == [
        ("d1", "One", "first"),
        ("d2", None, "second"),
    ]
    assert [(target.document, target.grade) for target in corpus.queries[0].targets] == [("d1", 2), ("d2", -1)]
    assert report.counts("dropped") == {
        "document: empty text": 1,
        "judgment: of an unknown or dropped record": 2,
        "judgment: contradicts an earlier one": 1,
        "judgment: the grade is no whole number": 1,
        "query: no readable judgment names it": 1,
    }
    assert "qrels/test.tsv:4" in [entry.where for entry in report.entries]
    assert report.queries_without_answers == 1


@pytest.mark.parametrize("content, found", [("q1\td1\t1\n", "q1, d1, 1"), ("", "nothing"), ("query-id corpus-id score\n", "query-id, corpus-id, score")])
def test_beir_judgments_without_a_line_of_columns(tmp_path, content, found):
    """One line alone would be taken for the columns, and nothing for judged."""
    with pytest.raises(InputError, match=f"qrels/test.tsv:1: needs the columns query-id, corpus-id, score .* holds {found}"):
        run(tmp_path, "beir", beir(tmp_path / "b", {"test.tsv": content}))


@pytest.mark.parametrize("score", ["NaN", "inf", "1e999", "x", ""])
def test_beir_grades_that_are_no_numbers(tmp_path, score):
    source = beir(tmp_path / "b", {"test.tsv": f"query-id\tcorpus-id\tscore\nq1\td1\t{score}\nq1\td2\t1.0\n"})
    report, corpus = run(tmp_path, "beir", source)
    assert report.counts("dropped")["judgment: the grade is no whole number"] == 1
    assert corpus.queries[0].targets[0].grade == 1


def conteb(folder, suffix):
    documents = [{"chunk_id": f"doc_a_{place}", "chunk": f"Chunk {place} says {place * 3}."} for place in (1, 0, 10, 2)]
    documents += [{"chunk_id": "b_0", "chunk": "Once once. "}, {"chunk_id": "b_1", "chunk": " "}]
    queries = [
        {"query": "one?", "chunk_id": "doc_a_10", "answer": "says 30"},
        {"query": "two?", "chunk_id": "b_0", "answer": "nce"},
        {"query": "three?", "chunk_id": "b_1", "answer": None},
    ]
    for name, rows in (("documents", documents), ("queries", queries)):
        if suffix == "jsonl":
            jsonl(folder / f"{name}.jsonl", rows)
        elif suffix == "parquet":
            (folder / name).mkdir(parents=True)
            pq.write_table(pa.Table.from_pylist(rows), folder / name / "test-00000-of-00001.parquet")
        else:
            (folder / name / "test").mkdir(parents=True)
            table = pa.Table.from_pylist(rows)
            with pa.OSFile(str(folder / name / "test/data-00000-of-00001.arrow"), "wb") as file:
                with pa.ipc.new_stream(file, table.schema) as writer:
                    writer.write_table(table)
            (folder / name / "test/state.json").write_text("{}")
    return folder


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "arrow"])
def test_conteb(tmp_path, suffix):
    report, corpus = run(tmp_path, "conteb", conteb(tmp_path / "set", suffix))
    assert [document.id for document in corpus.documents] == ["doc_a", "b"]
    text = corpus.documents[0].text
    assert text.split("\n\n") == [f"Chunk {place} says {place * 3}." for place in (0, 1, 2, 10)]
    assert [text[slice(*target.answers[0])] for target in corpus.queries[0].targets] == ["says 30"]
    assert corpus.documents[1].text[slice(*corpus.queries[1].targets[0].answers[0])] == "Once once."
    assert report.counts("dropped") == {
        "chunk: no text or no id": 1,
        "answer: in an unknown or dropped chunk": 1,
        "query: no document left that it asks for": 1,
    }
    assert len(chunk_table(corpus, "given")) == 5


def test_conteb_with_several_chunks(tmp_path):
    jsonl(
        tmp_path / "s/documents.jsonl",
        [{"chunk_id": f"{name}_{place}", "chunk": f"{name}{place}"} for name in "ab" for place in range(2)],
    )
    jsonl(tmp_path / "s/queries.jsonl", [{"query": "?", "chunk_ids": ["a_1", "b_0", "a_0"]}])
    _, corpus = run(tmp_path, "conteb", tmp_path / "s")
    assert [(target.document, target.answers) for target in corpus.queries[0].targets] == [
        ("a", ((4, 6), (0, 2))),
        ("b", ((0, 2),)),
    ]


def test_conteb_keeps_the_id_0_and_no_answer_inside_another_word(tmp_path):
    jsonl(tmp_path / "s/documents.jsonl", [{"chunk_id": "a_0", "chunk": " second of 1950"}])
    jsonl(tmp_path / "s/queries.jsonl", [{"query_id": 0, "query": "?", "chunk_id": "a_0", "answer": "5"}])
    _, corpus = run(tmp_path, "conteb", tmp_path / "s")
    assert (corpus.queries[0].id, corpus.queries[0].targets[0].answers) == ("0", ((1, 15),))


def test_conteb_with_a_chunk_whose_number_is_none(tmp_path):
    """A number so long is part of a name."""
    names = ["a_1", "a_0", "a_" + "9" * 5000]
    jsonl(tmp_path / "s/documents.jsonl", [{"chunk_id": name, "chunk": f"text {place}"} for place, name in enumerate(names)])
    jsonl(tmp_path / "s/queries.jsonl", [{"query": "?", "chunk_id": "a_1"}])
    _, corpus = run(tmp_path, "conteb", tmp_path / "s")
    assert [(document.id, document.text) for document in corpus.documents] == [("a", "text 1\n\ntext 0"), (names[2], "text 2")]


def test_text_folder_keeps_bytes_and_stays_inside(tmp_path):
    source, outside = tmp_path / "texts", tmp_path / "secret.txt"
    (source / "sub").mkdir(parents=True)
    outside.write_text("secret")
    (source / "sub/a.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n")
    (source / "b.txt").write_bytes(b"ok\n\xff")
    (source / "c.txt").write_bytes(b"\x1f\x8b\x08")
    (source / "d.txt").write_bytes(b" \n")
    (source / "e.bin").write_bytes(b"a\0b")
    (source / "link.txt").symlink_to(outside)
    (source / ".hidden").write_text("x")
    report, corpus = run(tmp_path, "text", source)
    assert [(document.id, document.text) for document in corpus.documents] == [("sub/a.md", "one\r\ntwo\rthree\n")]
    assert {entry.where: entry.reason for entry in report.entries} == {
        "b.txt:2": "invalid UTF-8",
        "c.txt": "is compressed: decompress it",
        "d.txt": "empty text",
        "e.bin": "is no text: holds zero bytes",
        "link.txt": "a link out of the folder",
    }


@pytest.mark.parametrize("name", ["../secret", "..", "a/b", "", "link"])
def test_span_csv_ids_cannot_leave_the_folder(tmp_path, name):
    source = tmp_path / "set"
    source.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (source / "link.txt").symlink_to(tmp_path / "secret.txt")
    (source / "q.csv").write_text(f'question,references,corpus_id\n?,"[]",{name}\n')
    with pytest.raises(InputError, match="no plain file name|link out of"):
        import_corpus("span-csv", source / "q.csv", tmp_path / "out")


def test_span_csv_keeps_line_numbers_over_breaks_in_fields(tmp_path):
    (tmp_path / "a.md").write_bytes(b"one\r\ntwo")
    (tmp_path / "q.csv").write_bytes(
        b'\xef\xbb\xbfquestion,references,corpus_id\r\n"first\r\nline","[{""content"": ""two"", ""start_index"": 5}]",a\r\n'
        b'second,"[{""content"": ""six"", ""start_index"": 0}, 7]",a\r\n'
    )
    report, corpus = run(tmp_path, "span-csv", tmp_path / "q.csv")
    assert corpus.queries[0].text == "first\r\nline" and corpus.queries[0].targets[0].answers == ((5, 8),)
    assert [entry.where for entry in report.entries] == ["q.csv:4: references[0]", "q.csv:4: references[1]"]


@pytest.mark.parametrize(
    "form, name, content, said",
    [
        ("squad", "s.json", b'{"data": [', "broken JSON"),
        ("squad", "s.json", b'{"data": {}}', "must be a list of articles"),
        ("squad", "s.json", b'{"data": [{"title": "x"}]}', "no SQuAD-style file"),
        ("squad", "s.json", b"\x1f\x8b\x08", "compressed"),
        ("squad", "s.json", b'{"data": [{"paragraphs": []}]}', "no document is left"),
        ("squad", "s.json", b"[" * 99999, "nested too deeply"),
        ("squad", "s.json", b'{"data": NaN}', "holds NaN"),
        ("squad", "s.parquet", b"PAR1 no", "no readable parquet"),
        ("squad", "s.xlsx", b"x", "no table that can be read"),
        ("squad", "s.jsonl", b'{"context": "x"}\n{', "s.jsonl:2: broken JSON"),
        ("squad", "s.jsonl", b'{"a": 1}\n', "has no text `context`"),
        ("span-csv", "q.csv", b"a,b\n1,2\n", "lacks question"),
        ("span-csv", "q.csv", b'question,references,corpus_id\n"x\ny,z', 'q.csv:2: broken table: .* a cell that begins with "'),
        ("squad", "s.json.gz", b"\x1f\x8b\x08", "is compressed: decompress it to one of .jsonl"),
        ("span-csv", "q.csv", b"question,references,corpus_id\n?,{,a\n", "no text a.md"),
        ("beir", "b.txt", b"", "no BEIR folder"),
        ("text", "b.txt", b"", "no such folder"),
        ("conteb", "b.txt", b"x", "no such folder, and no hub id"),
        ("sqad", "s.json", b"", "did you mean 'squad'"),
    ],
)
def test_broken_files_get_one_clear_message(tmp_path, form, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said):
        import_corpus(form, tmp_path / name, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_existing_destination_is_kept(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match="exists already"):
        import_corpus("squad", squad(tmp_path, []), tmp_path / "out")
