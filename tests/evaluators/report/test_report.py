from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers

from corpora.documents import Corpus, Document, Query, Target
from corpora.tokens import Tokenizer
from evaluators.bm25 import BM25
from evaluators.encoder import Encoded
from evaluators.evaluate import evaluate
from evaluators.report import write_report
from evaluators.report.evidence import intervals
from evaluators.report.sections import luck, sections_of
from evaluators.results import Results
from evaluators.significance import sign_test
from evaluators.suites.needle import NeedlePlan
from evaluators.suites.needle_figures import summary
from evaluators.tasks import Task
from tests.evaluators.worlds import Given, random_world

SUITES = ("conteb", "q2c", "q2d", "storage", "context", "spans")
HOSTILE = "<script>alert('x')</script> & \"|`*"


class Letters:
    """A vector counts letters."""

    name, quantiser, contextual, tokenizer, dimension = "letters", "none", True, None, 26

    def queries(self, texts):
        return np.array([[text.lower().count(chr(97 + place)) for place in range(26)] for text in texts], np.float32)

    def documents(self, corpus, table):
        texts = [corpus.documents[document].text[start:end]
                 for document, (start, end) in zip(table.document, table.span, strict=True)]
        return Encoded(self.queries(texts), 0, 0, len(table), len(table))


def words() -> Tokenizer:
    backend = Backend(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    return Tokenizer(backend.to_str().encode())


@pytest.fixture(scope="module")
def results() -> list[Results]:
    made = []
    for sign in (1, -1):
        worlds = [random_world(seed) for seed in (5, 6)]
        domains = {"one": "law", "two": HOSTILE}
        parts = [evaluate(Given(queries * sign, vectors), [Task(name, corpus, domain=domains[name])], SUITES,
                          dimensions=(6, 3), chunking="given")
                 for name, (corpus, queries, vectors) in zip(("one", "two"), worlds, strict=True)]
        frames = {name: pd.concat([getattr(part, name).astype(object) for part in parts], ignore_index=True)
                  for name in ("per_query", "queries", "tasks", "counts")}
        frames["per_query"] = frames["per_query"].astype({"dimension": int, "value": float})
        made.append(Results("given", **frames))
    return made


class Page(HTMLParser):
    """Tags, what they refer to, and the words between them."""

    def __init__(self, text: str):
        super().__init__()
        self.tags, self.targets, self.words = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.targets += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data):
        self.words.append(data)


def test_one_file_that_loads_nothing_and_escapes_everything(results, tmp_path):
    write_report(tmp_path, results)
    page = Page((tmp_path / "report.html").read_text())
    assert "script" not in page.tags and HOSTILE in page.words
    assert page.tags.count("img") == len(list(tmp_path.glob("*.png")))
    assert {path.stem for path in tmp_path.glob("*.png")} == {
        "conteb-tasks", "q2c-domains", "q2d-domains", "storage", "context"}
    assert all(target.startswith(("data:image/png;base64,", "#section-")) for target in page.targets)


def test_markdown_shows_figures_beside_it_and_no_markup_of_ids(results, tmp_path):
    write_report(tmp_path, results)
    text = (tmp_path / "report.md").read_text()
    assert {name for name in re.findall(r"\]\(([^)]*)\)", text)} == {path.name for path in tmp_path.glob("*.png")}
    assert "<script>" not in text
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1


def test_equal_results_give_equal_bytes(results, tmp_path):
    for name in ("a", "b"):
        write_report(tmp_path / name, results)
    assert {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()} == {
        path.name: path.read_bytes() for path in (tmp_path / "b").iterdir()}


def test_every_number_of_the_tables_is_the_results_own(results):
    one = results[0]
    found = {section.title.partition(":")[0]: section for section in sections_of([one])}
    by_task = dict(row[:2] for row in found["conteb"].tables[0].rows)
    means = one.values("conteb", "nDCG@10").groupby("task").mean()
    assert by_task == {"one": f"{means['one']:.4f}", "two": f"{means['two']:.4f}", "all": f"{means.mean():.4f}"}
    domains = dict(row[:2] for row in found["q2c"].tables[0].rows)
    assert set(domains) == {"law", HOSTILE, "all"}
    corpora = found["What was evaluated"].tables[1]
    assert [row[3] for row in corpora.rows] == list(one.tasks.corpus_sha256)


def test_intervals_hold_the_mean_and_shrink_to_it_where_nothing_varies(results):
    one = results[0]
    found = intervals(one)
    assert {name: mean for name, (mean, _, _) in found.items()} == {
        name: value for name, value in one.figures().items() if not name.startswith("storage/")}
    assert all(low - 1e-12 <= mean <= high + 1e-12 for mean, low, high in found.values())
    alone = replace(one, queries=one.queries.assign(family="f"))
    assert all(np.isnan(low) and np.isnan(high) for _, low, high in intervals(alone).values())
    frame = one.per_query.assign(value=0.5)
    assert all(np.allclose(triple, 0.5) for triple in intervals(replace(one, per_query=frame)).values())


def test_luck_is_one_target_in_a_random_order(results):
    one = results[0]
    chunks = [len(random_world(seed)[2]) for seed in (5, 6)]
    documents = one.tasks.documents.to_numpy(float)
    found = luck([one], ["Document@1", "Answer@10", "AllEvidence@10"])
    assert found.to_dict() == pytest.approx({
        "Document@1": np.mean(1 / documents), "Answer@10": np.mean([min(1, 10 / size) for size in chunks])})


def test_only_what_was_measured_has_a_section(results):
    one = results[0]
    alone = replace(one, per_query=one.per_query[one.per_query.suite == "q2d"])
    assert [section.title.partition(":")[0] for section in sections_of([alone])] == [
        "What was evaluated", "Headline figures", "q2d"]


def test_sizes_are_tested_in_pairs_and_abilities_have_rows():
    words_of = [f"Thing {place} speaks of letter {chr(97 + place % 26) * 3}. " for place in range(30)]
    documents = tuple(Document(f"d{place}", "".join(words_of[place:] + words_of[:place])) for place in range(4))
    queries = tuple(Query(f"q{place}", f"letter {chr(97 + place) * 3}", (Target(f"d{place % 4}", 1, ((0, 10),)),),
                          ability=("order", "aliases")[place % 2]) for place in range(8))
    found = evaluate(Letters(), [Task("t", Corpus("t", documents, queries))], ("chunk-size", "context"),
                     tokenizer=words(), chunk_sizes=(8, 16, 64))
    size, context = sections_of([found])[2:]
    assert set(size.figures) == {"chunk-size"} and set(context.figures) == {"context", "abilities"}
    by_size = [found.values("chunk-size", "nDCG@10", chunking=f"tokens:{each}") for each in (8, 16, 64)]
    for row, other in zip(size.tables[1].rows, by_size[1:], strict=True):
        difference = (other - by_size[0]).to_numpy()
        test = sign_test(difference)
        assert row[2] == f"{difference.mean():.4f}" and row[5:7] == (str(test.wins), str(test.losses))
    by_ability = {row[0]: row[1] for each in context.tables if each.caption == "Answer@10 by ability"
                  for row in each.rows}
    shares = found.abilities("Answer@10").set_index("ability")["value"]
    assert by_ability == {ability: f"{share:.4f}" for ability, share in shares.items()} and len(by_ability) == 3


def test_of_several_tasks_each_stands_beside_the_mean_of_all():
    found = evaluate(BM25(), [Task("one", random_world(5)[0]), Task("two", random_world(6)[0])], ("context",), chunking="given")
    by_task = {row[0]: row[1] for each in sections_of([found])[-1].tables if each.caption == "Answer@10 by task" for row in each.rows}
    values = found.values("context", "Answer@10").groupby("task").mean()
    assert by_task == {"one": f"{values['one']:.4f}", "two": f"{values['two']:.4f}", "all": f"{values.mean():.4f}"}


def test_without_float32_the_settings_are_listed(tmp_path):
    corpus, queries, vectors = random_world(5)
    write_report(tmp_path, [evaluate(Given(queries, vectors), [Task("t", corpus)], SUITES, precisions=("int8",),
                                     chunking="given")])
    assert "## q2c\n" in (tmp_path / "report.md").read_text()
    assert [path.name for path in tmp_path.glob("*.png")] == ["storage.png"]


def test_a_scorer_without_vectors_stands_beside_an_encoder(results, tmp_path):
    corpus = random_world(5)[0]
    bm25 = evaluate(BM25(), [Task("one", corpus)], SUITES, chunking="given")
    write_report(tmp_path, [bm25, results[0]])
    page = Page((tmp_path / "report.html").read_text())
    assert "no vectors" in page.words and "storage.png" in {path.name for path in tmp_path.glob("*.png")}


def test_needles_against_chance():
    """Bag of a needle's words: literal questions see it, whatever the length; chance is the last row."""
    tokenizer = words()
    filler = Corpus("f", tuple(Document(str(day), f"Nothing happens on day {day}. " * 30) for day in range(4)))
    found = evaluate(Letters(), [Task("f", filler)], ("needle",), tokenizer=tokenizer,
                     needle=NeedlePlan(lengths=(32, 64), depths=(0.0, 1.0)))
    section = sections_of([found])[-1]
    assert set(section.figures) == {"needle-normalised", "needle-preferred", "needle-auc", "needle-depths"}
    settings = section.tables[0]
    assert {row[settings.columns.index("length")] for row in settings.rows} == {"32", "64", "–"}
    assert settings.rows[-1][0] == "chance" and settings.rows[-1][settings.columns.index("AUC")] == "0.5000"
    lengths = summary(found).set_index(["question", "order", "expanded", "length"])
    first = dict(zip(settings.columns, settings.rows[0], strict=True))
    assert first["AUC"] == f"{lengths.AUC['literal', 'default', False, 32]:.4f}"


def test_a_suite_without_a_page_of_its_own_is_listed(results):
    one = results[0]
    strange = one.per_query[one.per_query.suite == "q2d"].assign(suite="strange")
    section = sections_of([replace(one, per_query=strange)])[-1]
    assert section.title == "strange" and section.tables[0].rows
