"""`corpus check`: problems, warnings and leaks together, under the lines where they stand."""

from __future__ import annotations

import json

from corpora import native
from corpora.checkup import check
from corpora.documents import Corpus, Document, Query, Target
from tests.corpora import tiny


def test_golden(golden):
    report = check(golden, tiny.wordpiece())
    assert not report.refused
    lines = (golden / "documents.jsonl").read_text().splitlines()
    twin = 1 + next(place for place, line in enumerate(lines) if '"the-copy-of-3"' in line)
    wheres = [problem.where for problem in report.warnings]
    assert f"documents.jsonl:{twin}" in wheres
    assert any(where.startswith("family ") for where in wheres)
    assert json.loads(json.dumps(report.json()))["statistics"]["golden"]["documents"] == 17
    assert any(line.startswith("warning: documents.jsonl:") for line in report.lines())


def test_problems_come_with_lines_and_without_figures(tmp_path):
    (tmp_path / "documents.jsonl").write_text('\n{"id": "a", "text": ""}\n')
    (tmp_path / "queries.jsonl").write_text("{")
    report = check(tmp_path)
    assert [problem.where for problem in report.problems] == ["documents.jsonl:2", "queries.jsonl:1"]
    assert report.refused and not report.parts
    assert report.lines()[0].startswith("refused: documents.jsonl:2: ")


def test_splits_are_checked_together(tmp_path):
    text = "the rent of this flat is due on the first day of every month without further notice or delay"
    for name, words, asked in (
        ("train", text, "one?"),
        ("dev", text + " ever", "one?"),
        ("confirm", "all its own", "three?"),
    ):
        native.write(
            Corpus(name, (Document(name, words),), (Query(f"q{name}", asked, (Target(name),)),)), tmp_path / name
        )
    report = check(tmp_path)
    assert [str(problem) for problem in report.problems] == [
        "dev and train: share the near-duplicate 'dev'",
        "dev and train: share the query text 'one?'",
    ]
    (tmp_path / "train/documents.jsonl").write_text("{}\n")
    assert [problem.where for problem in check(tmp_path).problems] == ["train/documents.jsonl:1"] * 2 + [
        "train/queries.jsonl:1"
    ]
