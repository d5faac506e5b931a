"""`stockpot compare` as a user runs it: folders of evaluations, a sweep's checkpoints, refusals, the page."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from corpora import native, scores
from evaluators.compare import COLUMNS
from evaluators.evaluate import evaluate
from evaluators.tasks import Task
from tests.evaluators.worlds import Given, random_world
from tests.stockpot.command import stockpot
from tests.sweeps import made_ledgers


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """What `stockpot evaluate --out` leaves of two encoders, and the corpus they ran on."""
    folder = tmp_path_factory.mktemp("compared")
    corpus, queries, vectors = random_world(8, documents=12, queries=30)
    native.write(corpus, folder / "corpus")
    for name, sign in (("one", 1), ("two", -1)):
        results = evaluate(Given(queries * sign, vectors), [Task("world", corpus)], ("q2c", "q2d", "storage"),
                           chunking="given", runs=folder / name / "runs")
        results.to_parquet(folder / name / "per-query.parquet")
    return folder


def test_rows_as_json_and_as_a_table(folders):
    told = json.loads(stockpot("compare", folders / "one", folders / "two", "--figure", "q2c", "--json").stdout)
    assert told["evaluations"] == {letter: {"from": str(folders / name), "encoder": "given"}
                                   for letter, name in (("A", "one"), ("B", "two"))}
    assert [row["figure"] for row in told["rows"]] == ["q2c/nDCG@1", "q2c/nDCG@5", "q2c/nDCG@10"]
    assert all(set(row) == set(COLUMNS) and row["low"] <= row["difference"] <= row["high"] for row in told["rows"])
    shown = stockpot("compare", folders / "one" / "per-query.parquet", folders / "two", "--figure", "storage").stdout
    assert "storage/nDCG@10[d=6,int8]" in shown and "no difference can be told" in shown


def test_the_page_shows_flips_chunks_answers_and_shades(folders, tmp_path):
    corpus = native.read(folders / "corpus")
    pairs = {(query.id, target.document): len(corpus.documents[corpus.position[target.document]].text)
             for query in corpus.queries for target in query.targets}
    scores.write(tmp_path / "teacher.parquet", [
        scores.PairRows(*pair, np.arange(length), np.arange(length) + 1, np.linspace(0, 1, length))
        for pair, length in pairs.items()])
    done = stockpot("compare", folders / "one", folders / "two", "--corpus", folders / "corpus",
                    "--out", tmp_path / "page", "--teacher", tmp_path / "teacher.parquet", "--flips", 3, "--top", 2)
    assert "compare.html" in done.stderr
    page = (tmp_path / "page" / "compare.html").read_text()
    side_by_side = (tmp_path / "page" / "report.md").read_text()
    assert "A given" in side_by_side and "B given" in side_by_side
    assert page.count("<article>") == 3 and page.count("A retrieved") == 3
    assert len(re.findall(r'<div class="chunk', page)) == 3 * 2 * 2
    assert 'class="answer"' in page and 'class="heat-' in page and "<script" not in page
    assert not re.findall(r'(?:src|href)="(?!data:|#)', page)


def test_without_a_corpus_the_page_says_how_to_see_the_chunks(folders, tmp_path):
    stockpot("compare", folders / "one", folders / "two", "--out", tmp_path, "--explain", "q2d/nDCG@10")
    page = (tmp_path / "compare.html").read_text()
    assert "queries that flipped, q2d/nDCG@10" in page and "--corpus" in page and "retrieved</h4>" not in page


def test_checkpoints_of_a_sweep(tmp_path):
    ledger = made_ledgers.begin(tmp_path)
    for ordinal in (0, 1, 2):
        made_ledgers.trial(ledger, ordinal, steps=(20,))
        made_ledgers.write_results(tmp_path / f"ledger/scores/{ordinal}-20.parquet", ordinal, 20)
    done = stockpot("compare", *(f"{tmp_path}:{ordinal}" for ordinal in (0, 1, 2)), "--all-pairs", "--json",
                    "--figure", "context/Answer@10")
    told = json.loads(done.stdout)
    assert told["evaluations"]["B"]["from"] == f"{tmp_path}:1 (trial 1, step 20, dev)"
    assert [(row["a"], row["b"]) for row in told["rows"]] == [("A", "B"), ("A", "C"), ("B", "C")]
    assert [row["difference"] for row in told["rows"]] == pytest.approx([0.1, 0.2, 0.1])
    assert {row["families"] for row in told["rows"]} == {1} and {row["low"] for row in told["rows"]} == {None}


@pytest.mark.parametrize(("arguments", "message"), [
    (["one"], "takes 2 to 26 evaluations, found 1"),
    (["one", "nowhere"], "nowhere: is no folder that `stockpot evaluate --out` wrote"),
    (["one", "two", "--figure", "q9"], "figure 'q9': is in none or not in all of the results; shared are q2c/nDCG@1"),
    (["one", "two", "--seed", "-1"], "Invalid value for '--seed': "),
    (["one", "other"], "task 'world': A was evaluated on the corpus"),
    (["one", "two", "--out", "x", "--corpus", "strange"], "strange was not evaluated: its content is"),
    (["one", "two", "--out", "x", "--explain", "q2c"], "takes one figure, found the suite 'q2c'"),
])
def test_mistakes_are_told(folders, arguments, message):
    corpus, queries, vectors = random_world(9)
    if not (folders / "strange").exists():
        native.write(corpus, folders / "strange")
        evaluate(Given(queries, vectors), [Task("world", corpus)], ("q2c",), chunking="given").to_parquet(
            folders / "other" / "per-query.parquet")
    done = stockpot("compare", *arguments, check=False, cwd=folders)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr
    assert not (folders / "x").exists()
