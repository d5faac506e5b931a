"""The native format: what is read comes back, what is wrong is named with file and line, all at once."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora import native
from corpora.checkup import check
from corpora.documents import Corpus, Document, Query, Target
from corpora.errors import InputError
from corpora.jsonl import parse

TEXT = "The rent is 1200. 😀 Ada pays."
DOCUMENT = {"id": "a", "text": TEXT}


def query(**target):
    return {"id": "q", "text": "Who pays?", "targets": [{"document": "a", **target}]}


def folder_of(path, documents, queries):
    for name, records in (("documents.jsonl", documents), ("queries.jsonl", queries)):
        lines = [record if isinstance(record, bytes) else json.dumps(record).encode() for record in records]
        (path / name).write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def problems_of(path, documents, queries=()):
    with pytest.raises(InputError) as caught:
        native.read(folder_of(path, documents, queries))
    told = [str(problem) for problem in caught.value.problems]
    assert all(line.startswith(f"{path}/") for line in told), "which corpus it is, where several are read"
    return [line.removeprefix(f"{path}/") for line in told]


def test_golden_and_shared_corpora_are_read(golden):
    corpus = native.read(golden)
    assert (len(corpus.documents), len(corpus.queries)) == (17, 21)
    first = corpus.queries[0].targets[0]
    assert first.answers == ((85, 111), (130, 154))
    assert first.evidence == ((((14, 31),),), (((48, 61),), ((63, 70), (112, 120))))


@pytest.mark.parametrize(
    "name, documents, queries",
    [("cuad", 221, 1519), ("evidence-inference", 47, 129), ("qmsum-dev", 35, 237), ("qmsum-train", 24, 284)],
)
def test_real_corpora_survive_writing(shared, tmp_path, name, documents, queries):
    corpus = native.read(shared / "corpora" / name)
    assert (corpus.name, len(corpus.documents), len(corpus.queries)) == (name, documents, queries)
    native.write(corpus, tmp_path / name)
    assert native.read(tmp_path / name) == corpus


def test_byte_order_mark_crlf_and_blank_lines_lose_nothing(tmp_path):
    documents = [
        b"\xef\xbb\xbf" + json.dumps(DOCUMENT).encode() + b"\r",
        b"",
        json.dumps({**DOCUMENT, "id": "b"}).encode(),
    ]
    corpus = native.read(folder_of(tmp_path, documents, [query(answers=[[0, 8]], quotes=["The rent"])]))
    assert [document.id for document in corpus.documents] == ["a", "b"]
    (tmp_path / "documents.jsonl").write_bytes(
        b"\r".join(json.dumps({**DOCUMENT, "id": name}).encode() for name in "ab")
    )
    assert len(native.read(tmp_path).documents) == 2


def test_an_alternative_is_a_span_or_a_list_of_spans(tmp_path):
    corpus = native.read(folder_of(tmp_path, [DOCUMENT], [query(evidence=[[[0, 3], [[4, 8], [12, 16]]]])]))
    assert corpus.queries[0].targets[0].evidence == ((((0, 3),), ((4, 8), (12, 16))),)


@pytest.mark.parametrize(
    "line, said",
    [
        (b'{"id": "a", "text": "x"', "documents.jsonl:1: broken JSON at column"),
        (b'{"id": "a", "text": "\xff"}', "documents.jsonl:1: invalid UTF-8 at byte 22"),
        (b'{"id": "a", "text": "x", "id": "b"}', "key 'id' stands twice"),
        (b'{"id": "a", "text": NaN}', "holds NaN"),
        (b'{"id": "a", "text": 1e999}', "holds 1e999"),
        (b'{"id": "a", "text": ' + b"9" * 5000 + b"}", "thousands of digits"),
        (b'{"id": "a", "text": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"id": "a", "text": "\\ud800"}', "half of a surrogate pair"),
        (b'["a"]', 'holds a list (["a"]): each line is one JSON object'),
        (b'{"id": "a", "txet": "x"}', "txet is unknown: did you mean 'text'?"),
        (b'{"id": "a"}', "text is missing"),
        (b'{"id": 7, "text": "x"}', "id is a number (7): it must be a string"),
        (b'{"id": "a", "text": " \\n"}', "text is empty"),
        (b'{"id": "", "text": "x"}', "id is empty"),
        (b'{"id": "a", "text": "x", "chunks": []}', "chunks is empty"),
        (
            b'{"id": "a", "text": "x", "chunks": [[0, 2]]}',
            "chunks[0] [0, 2] lies outside the text, which has 1 characters",
        ),
        (b'{"id": "a", "text": "x", "chunks": [[0, 1.0]]}', "chunks[0] is a list ([0, 1.0]): it must be a span"),
        (b"\x1f\x8b\x08", "documents.jsonl: is compressed"),
        (b"\xff\xfe{\x00}\x00", "documents.jsonl: is UTF-16"),
    ],
)
def test_a_broken_document_line_is_named(tmp_path, line, said):
    found = problems_of(tmp_path, [line])
    assert len([message for message in found if said in message]) == 1, found


@pytest.mark.parametrize(
    "target, said",
    [
        ({"document": "z"}, "document 'z' is not in documents.jsonl"),
        ({"answers": [[0, 99]]}, f"answers[0] [0, 99] lies outside the text, which has {len(TEXT)} characters"),
        ({"answers": [[-1, 3]]}, "answers[0] [-1, 3] lies outside"),
        ({"answers": [[0, 10**30]]}, "lies outside the text"),
        ({"answers": [[5, 2]]}, "[5, 2] runs backwards"),
        ({"answers": [[5, 5]]}, "[5, 5] is empty"),
        ({"answers": [[3, 4]]}, "[3, 4] is white space"),
        ({"answers": [[True, 4]]}, "answers[0] is a list ([true, 4]): it must be a span"),
        ({"answers": [["0", "4"]]}, "it must be a span"),
        ({"answers": [0, 4]}, "answers[0] is a number (0): it must be a span"),
        ({"answers": {}}, "answers is an object: it must be a list"),
        (
            {"answers": [[0, 8]], "quotes": ["The lent"]},
            "quotes[0] is 'The lent', but answers[0] [0, 8] holds 'The rent'",
        ),
        ({"answers": [[0, 8]], "quotes": []}, "quotes holds 0 for 1 answers"),
        ({"answers": [[0, 8]], "quotes": [8]}, "quotes[0] is a number (8): it must be a string"),
        ({"evidence": [[]]}, "evidence[0] is a list ([]): it must be a list of at least one alternative"),
        ({"evidence": [[[[3, 4]]]]}, "evidence[0][0][0] [3, 4] is white space"),
        ({"evidence": [[0, 3]]}, "evidence[0][0] is a number (0)"),
        ({"grade": 1.0}, "grade is a number (1.0): it must be a whole number"),
        ({"grade": "1"}, "grade is a string"),
        ({"answer": [[0, 3]]}, "targets[0].answer is unknown: did you mean 'answers'?"),
    ],
)
def test_a_wrong_label_is_named(tmp_path, target, said):
    found = problems_of(tmp_path, [DOCUMENT], [query(**target)])
    assert all(message.startswith("queries.jsonl:1: targets[0].") for message in found), found
    assert len([message for message in found if said in message]) == 1, found


@pytest.mark.parametrize(
    "targets, said",
    [([], "targets is missing or empty"), ("x", "targets is a string"), (["a"], "targets[0] is a string")],
)
def test_wrong_targets_are_named(tmp_path, targets, said):
    found = problems_of(tmp_path, [DOCUMENT], [{"id": "q", "text": "?", "targets": targets}])
    assert len(found) == 1 and said in found[0], found


def test_all_problems_come_at_once_in_order(tmp_path):
    found = problems_of(
        tmp_path,
        [DOCUMENT, b"{", {"id": "a", "text": "again"}, {"id": "c", "text": ""}],
        [query(answers=[[0, 99], [3, 4]]), {"id": "r", "text": "?", "targets": []}, query(document="z")],
    )
    assert [message.split(": ")[0] for message in found] == [
        "documents.jsonl:2",
        "documents.jsonl:3",
        "documents.jsonl:4",
        "queries.jsonl:1",
        "queries.jsonl:1",
        "queries.jsonl:2",
        "queries.jsonl:3",
        "queries.jsonl:3",
    ]
    assert "stands already at documents.jsonl:1" in found[1]


def test_what_is_wrong_in_a_record_hides_nothing_else_in_it(tmp_path):
    wrong = {"document": "zz", "grade": 1.5, "answers": [[0, 99]]}
    spans = {"document": "a", "answers": [[0, 99], "x", [3, 2]], "evidence": [[[[0, 98]], 5]], "quotes": [7, "y", "z"]}
    found = problems_of(
        tmp_path,
        [DOCUMENT, {"id": "b", "text": 5, "chunks": [[0, 1]]}, {"id": "c", "text": "abc", "title": 1, "chunks": [[0, 9], 4]}],
        [{"id": "q", "text": 4, "targets": [wrong, 3, spans]}, {"id": "r", "text": "?", "targets": 9}, query(document="b", answers=[[0, 99]])],
    )
    told = "\n".join(found)
    for said in (
        "documents.jsonl:2: text is", "documents.jsonl:3: title is", "documents.jsonl:3: chunks[0] [0, 9] lies outside", "documents.jsonl:3: chunks[1] is",
        "queries.jsonl:1: text is", "targets[0].grade is", "targets[0].document 'zz' is not in", "targets[1] is", "answers[0] [0, 99] lies outside",
        "answers[1] is", "answers[2] [3, 2] runs backwards", "evidence[0][0][0] [0, 98] lies outside", "evidence[0][1] is", "quotes[0] is",
        "queries.jsonl:2: targets is",
    ):  # fmt: skip
        assert said in told, (said, found)
    assert len(found) == 16 and sum(line.startswith("queries.jsonl:3: query id 'q' stands already") for line in found) == 1


def test_a_missing_folder_or_file_is_named(tmp_path):
    with pytest.raises(InputError, match="no such corpus folder"):
        native.read(tmp_path / "nowhere")
    folder_of(tmp_path, [DOCUMENT], [])
    (tmp_path / "queries.jsonl").unlink()
    with pytest.raises(InputError, match=f"{tmp_path}/queries.jsonl: no such file"):
        native.read(tmp_path)


@pytest.mark.parametrize(
    ("put", "said"),
    [
        (Path.mkdir, "is a folder: a file of that name is wanted"),
        (os.mkfifo, "is a pipe, a socket or a device"),
        (lambda path: path.symlink_to("gone.jsonl"), "is a link to gone.jsonl, which is not there"),
    ],
)
def test_what_stands_where_a_file_is_wanted(tmp_path, put, said):
    folder_of(tmp_path, [DOCUMENT], [])
    (tmp_path / "documents.jsonl").unlink()
    put(tmp_path / "documents.jsonl")
    with pytest.raises(InputError, match=said):
        native.read(tmp_path)
    assert said in str(check(tmp_path).problems[0])


def test_documents_that_could_not_be_read_are_spoken_of_where_there_are_some(tmp_path):
    hint = "(some documents could not be read)"
    broken_query = {"id": "p", "text": "?", "targets": []}
    assert not any(hint in line for line in problems_of(tmp_path, [DOCUMENT], [broken_query, query(document="z")]))
    assert any(hint in line for line in problems_of(tmp_path, [DOCUMENT, b"{"], [query(document="z")]))
    many = [{**query(document="z"), "id": str(number)} for number in range(30)]
    found = problems_of(tmp_path, [DOCUMENT, b"{"], [*many, {**query(answers=[[0, 99]]), "id": "known"}])
    assert len(found) == 3 and found[1].startswith("queries.jsonl: 30 targets name documents") and hint in found[1]
    assert "lies outside" in found[2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1,\n "b": NaN}', "line 2: holds NaN"),
        ('{"a": "NaN",\n\n "b": [1, -Infinity]}', "line 3: holds -Infinity"),
        ('[1e9,\n "1e999",\n 1e999]', "line 3: holds 1e999"),
        ('{"b": NaN}', "holds NaN"),
    ],
)
def test_a_number_that_is_none_gets_its_line(text, said):
    with pytest.raises(ValueError, match=f"^{said}, which"):
        parse(text)


def test_odd_families_and_languages_are_warned_of(tmp_path):
    documents = [{**DOCUMENT, "id": str(place), "text": f"Text {place}.", **odd} for place, odd in enumerate(
        [{"family": ""}, {"family": " "}, *({"language": tag} for tag in ("en", "pt-BR", "zh-Hant-TW", "x-own", "english!", "e", "de_DE", "")), {}]
    )]  # fmt: skip
    told = [str(problem) for problem in check(folder_of(tmp_path, documents, [])).warnings if "Jaccard" not in problem.message]
    lines = [line.partition(": ")[0] for line in told if "family is" in line or "language is" in line]
    assert lines == [f"documents.jsonl:{line}" for line in (1, 2, 7, 8, 9, 10)]


def test_a_language_that_english_rules_cut_is_warned_of_once(tmp_path):
    tags = ["klingon", "klingon", "deu", "sv", "en", "de-AT", "pt_BR", "gsw", "uk", "ar", "te", None]
    documents = [{"id": str(place), "text": f"Text {place}.", **({"language": tag} if tag else {})} for place, tag in enumerate(tags)]
    told = [problem for problem in check(folder_of(tmp_path, documents, [])).warnings if "English" in problem.message]
    assert [problem.where for problem in told] == ["language 'klingon'", "language 'deu'", "language 'sv'"]
    assert "English ones cut its 2 documents" in told[0].message


@settings(max_examples=100, deadline=None)
@given(st.data(), st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40).filter(str.strip))
def test_any_corpus_comes_back(tmp_path_factory, data, text):
    letters = [place for place, letter in enumerate(text) if not letter.isspace()]

    def span():
        place = data.draw(st.sampled_from(letters))
        return data.draw(st.integers(0, place)), data.draw(st.integers(place + 1, len(text)))

    answers = tuple(span() for _ in range(data.draw(st.integers(0, 2))))
    target = Target(
        "d/../e",
        grade=data.draw(st.integers(-1, 3)),
        answers=answers,
        evidence=(((span(), span()), (span(),)),),
        quotes=tuple(text[start:end] for start, end in answers) if answers else None,
    )
    corpus = Corpus(
        "c", (Document("d/../e", text, domain="x", chunks=((0, len(text)),)),), (Query("q", text, (target,)),)
    )
    folder = tmp_path_factory.mktemp("any") / "c"
    native.write(corpus, folder)
    assert native.read(folder) == corpus
