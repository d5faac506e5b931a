"""Publishers' files: each count is first taken by a plain loop, then asked of the import and its report."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from corpora import checks, native
from corpora.importers import import_corpus

CHROMA = "chroma_chunking_evaluation/chunking_evaluation/evaluation_framework/general_evaluation_data"
COVID = "covid_qa/data/question-answering/200423_covidQA.json"
CMRC = "cmrc2018/squad-style-data/cmrc2018_dev.json"


def squad_answers(path: Path):
    """(context, answer text, answer start) of every answer."""
    for article in json.loads(path.read_text())["data"]:
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                for answer in question["answers"]:
                    yield paragraph["context"], answer["text"], answer["answer_start"]


def squad_loop(path: Path) -> dict[str, int]:
    counts = dict.fromkeys(("answers", "match", "match with edges", "leading space", "shifted", "nowhere"), 0)
    for context, text, start in squad_answers(path):
        counts["answers"] += 1
        bare = text.strip()
        if start >= 0 and context[start : start + len(text)] == text:
            counts["match"] += 1
            counts["match with edges"] += text != bare
        elif start >= 0 and context[start : start + len(bare)] == bare:
            counts["leading space"] += 1
        elif bare in context:
            places = [place for place in range(len(context)) if context[place : place + len(bare)] == bare]
            assert len([place for place in places if abs(place - start) <= 10]) == 1
            counts["shifted"] += 1
        else:
            counts["nowhere"] += 1
    return counts


def imported(tmp_path, *arguments):
    report = import_corpus(*arguments, tmp_path / "out")
    corpus = native.read(tmp_path / "out")
    assert json.loads((tmp_path / "out/import.json").read_text()) == report.json()
    assert (report.documents, report.queries) == (len(corpus.documents), len(corpus.queries))
    assert report.answers == sum(len(target.answers) for query in corpus.queries for target in query.targets)
    for query in corpus.queries:
        for target in query.targets:
            text = corpus.documents[corpus.position[target.document]].text
            assert all(text[start:end] == text[start:end].strip() != "" for start, end in target.answers)
    return report, corpus


def test_covid(shared, tmp_path):
    path = shared / "formats" / COVID
    assert squad_loop(path) == {
        "answers": 1380,
        "match": 1146,
        "match with edges": 184,
        "leading space": 196,
        "shifted": 38,
        "nowhere": 0,
    }
    report, corpus = imported(tmp_path, "squad", path)
    assert (report.documents, report.queries, report.answers) == (98, 1380, 1380)
    assert report.counts("repaired") == {
        "answer: edge white space": 184,
        "answer: edge white space that the offset does not count": 196,
        "answer: shifted offset": 38,
    }
    assert report.counts("dropped") == {}
    wanted = [text.strip() for _, text, _ in squad_answers(path)]
    found = [
        corpus.documents[corpus.position[target.document]].text[slice(*target.answers[0])]
        for query in corpus.queries
        for target in query.targets
    ]
    assert found == wanted


def test_cmrc(shared, tmp_path):
    path = shared / "formats" / CMRC
    assert squad_loop(path) == {
        "answers": 9657,
        "match": 9457,
        "match with edges": 13,
        "leading space": 0,
        "shifted": 7,
        "nowhere": 193,
    }
    report, _ = imported(tmp_path, "squad", path)
    assert (report.documents, report.queries, report.answers) == (848, 3219, 9657 - 193)
    assert report.counts("repaired") == {"answer: shifted offset": 7, "answer: edge white space": 13}
    assert report.counts("dropped") == {"answer: stands nowhere in the text": 193}


def test_xquad_files_share_ids_and_are_prefixed(shared, tmp_path):
    folder = shared / "formats/xquad"
    ids = {
        path.stem: [
            question["id"]
            for article in json.loads(path.read_text())["data"]
            for paragraph in article["paragraphs"]
            for question in paragraph["qas"]
        ]
        for path in folder.glob("*.json")
    }
    assert [len(found) for found in ids.values()] == [1190] * 3 and len(set().union(*ids.values())) == 1190
    for path in folder.glob("*.json"):
        counts = squad_loop(path)
        assert counts["match"] == counts["answers"] == 1190
    report, corpus = imported(tmp_path, "squad", folder)
    assert (report.documents, report.queries, report.answers) == (144, 3570, 3570)
    assert not report.entries
    assert {query.id for query in corpus.queries} == {f"{stem}/{name}" for stem, names in ids.items() for name in names}
    assert [len(document.chunks) for document in corpus.documents] == [5] * 144
    article = json.loads((folder / "xquad.ar.json").read_text())["data"][0]
    assert [corpus.documents[0].text[slice(*chunk)] for chunk in corpus.documents[0].chunks] == [
        paragraph["context"] for paragraph in article["paragraphs"]
    ]


def test_chroma(shared, tmp_path):
    folder = shared / "formats" / CHROMA
    with open(folder / "questions_df.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    texts = {
        row["corpus_id"]: (folder / "corpora" / f"{row['corpus_id']}.md").read_text(encoding="utf-8") for row in rows
    }
    references = [(texts[row["corpus_id"]], reference) for row in rows for reference in json.loads(row["references"])]
    assert len(rows) == 472 and len(references) == 790
    assert all(text[one["start_index"] : one["end_index"]] == one["content"] for text, one in references)
    edges = sum(one["content"] != one["content"].strip() for _, one in references)
    report, corpus = imported(tmp_path, "span-csv", folder / "questions_df.csv")
    assert (report.documents, report.queries, report.answers) == (5, 472, 790)
    assert report.counts("repaired") == {"answer: edge white space": edges} and not report.counts("dropped")
    assert [query.text for query in corpus.queries] == [row["question"] for row in rows]
    for query in corpus.queries:
        (target,) = query.targets
        assert target.evidence == tuple(((span,),) for span in target.answers)


def test_licences_as_plain_text(shared, tmp_path):
    source = tmp_path / "licences"
    source.mkdir()
    texts = {}
    for path in (shared / "formats/spdx_license_neardup/licenses").glob("*.json"):
        texts[f"{path.stem}.txt"] = json.loads(path.read_text())["licenseText"]
        (source / f"{path.stem}.txt").write_text(texts[f"{path.stem}.txt"], newline="")
    report, corpus = imported(tmp_path, "text", source)
    assert not report.entries
    assert {document.id: document.text for document in corpus.documents} == texts
    repeated = len(texts) - len(set(texts.values()))
    assert repeated == 40
    assert len(checks.warnings(corpus)) == repeated


@pytest.mark.parametrize("name", [COVID, CMRC])
def test_strict_refuses_and_writes_nothing(shared, tmp_path, name):
    from corpora.errors import InputError

    with pytest.raises(InputError) as caught:
        import_corpus("squad", shared / "formats" / name, tmp_path / "out", strict=True)
    counts = squad_loop(shared / "formats" / name)
    assert len(caught.value.problems) == sum(
        counts[kind] for kind in ("match with edges", "leading space", "shifted", "nowhere")
    )
    assert not list(tmp_path.iterdir())
