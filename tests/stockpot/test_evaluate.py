"""`stockpot evaluate` as a user types it: encoders by a word, suite files, needles, test splits, backfill."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from corpora import native
from corpora.documents import Corpus, Document, Query, Target
from evaluators.results import Results
from stockpot.encoding_progress import EncodingProgress
from sweeps.ledger import Ledger
from tests.stockpot.command import stockpot
from tests.sweeps.tiny_sweep import save_encoder


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> Path:
    return save_encoder(tmp_path_factory.mktemp("encoder") / "tiny")


@pytest.fixture(scope="module")
def prices(tmp_path_factory) -> Path:
    """Documents of some hundred tokens for the tiny encoder, which reads letters."""
    texts = [" ".join(f"Item {n}.{day} costs {n * day} pounds." for day in range(1, 9)) for n in range(6)]
    documents = tuple(Document(f"d{n}", text, family=f"f{n}") for n, text in enumerate(texts))
    queries = tuple(Query(f"q{n}", f"What does item {n}.3 cost?", (Target(f"d{n}", answers=((0, 20),)),)) for n in range(6))
    folder = tmp_path_factory.mktemp("corpus") / "prices"
    native.write(Corpus("prices", documents, queries), folder)
    return folder


def told(said, *arguments):
    code, out, err = said("evaluate", *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


@pytest.mark.parametrize("kind", ["isolated", "late"])
def test_plain_encoders_by_a_word(said, encoder, prices, kind):
    found = told(said, f"{kind}:{encoder}", "--corpus", prices, "--suite", "context,q2c", "--precision", "float32")
    assert found["encoder"] == f"{kind}:tiny" and found["chance"] == {}
    chunkings = {row["chunking"] for row in found["results"] if row["suite"] == "context"}
    assert chunkings == ({"sentence", "whole"} if kind == "isolated" else {"sentence"})


def test_needles_in_a_corpus_with_chance_beside(said, encoder, prices, tmp_path):
    (tmp_path / "e.jsonl").write_text('{"id": "opera", "literal_expansion": "music"}\n')
    found = told(said, f"late:{encoder}", "--corpus", prices, "--suite", "needle", "--needle-lengths", "128,200",
                 "--needle-expansions", tmp_path / "e.jsonl", "--precision", "float32", "--out", tmp_path / "out")
    figures = found["figures"]
    assert {f"needle/{name}@{size}" for name in ("AUC", "Normalised", "NormalisedChance") for size in (128, 200)} <= set(figures)
    assert found["chance"]["needle/AUC"] == 0.5 and found["chance"]["needle/Normalised"] == "needle/NormalisedChance"
    counted = {row["queries"] for row in found["results"] if row["metric"] == "AUC@128"}
    assert counted == {8 * 2 * 2 + 2}  # plain for all, expanded for one question in both orders
    for name in ("report.html", "report.md", "results.json", "per-query.parquet", "needle-auc.png"):
        assert (tmp_path / "out" / name).is_file(), name
    assert list((tmp_path / "out" / "mteb").rglob("*.json"))
    code, _, err = said("evaluate", f"late:{encoder}", "--corpus", prices, "--suite", "needle", "--needle-lengths", "99999")
    assert code == 2 and "99999" in err and "prices" in err


def test_the_table_names_chance_and_leaves_depths_out(said, prices, encoder):
    code, out, err = said("evaluate", "bm25", "--tokenizer", encoder, "--corpus", prices, "--suite", "needle", "--needle-lengths", "128")
    assert code == 0 and "by chance: " in out and "needle/AUC 0.5" in out and "depth=" not in out
    assert "needles in prices" in err


def test_a_suite_file_and_options_before_it(said, prices, tmp_path):
    content = {"name": "mine", "tasks": [{"corpus": str(prices), "name": "shop", "domain": "retail"}], "suites": ["q2c"], "k": [3]}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content))
    found = told(said, "bm25", "--suite-file", tmp_path / "mine.yaml", "--per-query", tmp_path / "q.parquet")
    assert {row["metric"] for row in found["results"]} == {"nDCG@3", "nDCG@10"}
    assert Results.from_parquet(tmp_path / "q.parquet").tasks.domain.tolist() == ["retail"]
    found = told(said, "bm25", "--suite", f"q2d,{tmp_path / 'mine.yaml'}", "--k", "5")
    assert {(row["suite"], row["metric"], row["task"]) for row in found["results"]} == {
        ("q2d", "nDCG@5", "shop"), ("q2d", "nDCG@10", "shop")}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content | {"suits": []}))
    code, out, err = said("evaluate", "bm25", "--suite-file", tmp_path / "mine.yaml")
    assert code == 2 and out == "" and "did you mean 'suites'" in err and "mine.yaml:" in err


def test_an_encoder_of_ones_own(said, prices, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_own_encoder.py").write_text(
        "import numpy as np\nfrom evaluators.encoder import Encoded\n"
        "class Mine:\n"
        "    name, dimension, quantiser, contextual, tokenizer = 'mine', 3, 'none', True, None\n"
        "    lost = 0\n"
        "    def queries(self, texts): return np.ones((len(texts), 3), np.float32)\n"
        "    def documents(self, corpus, table):\n"
        "        return Encoded(np.ones((len(table), 3), np.float32), 9, 9 - self.lost, len(table), len(table))\n"
        "class Cuts(Mine):\n    lost = 1\n"
    )
    found = told(said, "--encoder", "my_own_encoder:Mine", "--corpus", prices, "--suite", "q2c")
    assert found["encoder"] == "mine"
    code, _, err = said("evaluate", "--encoder", "my_own_encoder:Cuts", "--corpus", prices, "--suite", "q2c")
    assert code == 1 and "9 tokens in, 8 used" in err


@pytest.mark.parametrize(("arguments", "words"), [
    (["bm25"], ["--corpus", "--sweep"]),
    (["bm25", "--encoder", "a:b"], ["CHECKPOINT", "--encoder"]),
    (["bm25", "--corpus", "c", "--open-test"], ["--open-test", "--sweep"]),
    (["bm25", "--corpus", "c", "--sweep", "s"], ["--sweep", "--corpus"]),
    (["sentence-transformers:", "--corpus", "c"], ["sentence-transformers:FOLDER"]),
    (["--backfill", "s"], ["--suite"]),
    (["--backfill", "s", "--suite", "spans", "--k", "5"], ["--k", "backfill"]),
])
def test_wrong_requests(said, arguments, words):
    code, out, err = said("evaluate", *arguments)
    assert code == 2 and out == ""
    assert all(word in err for word in words), err


def test_progress_without_a_terminal_is_a_line_now_and_then(capsys):
    times = iter([0.0, 0.0, 10.0, 31.0, 31.0, 40.0])
    with EncodingProgress(lambda: next(times)) as shown:
        shown.say("prices: 6 documents")
        shown.watch(100, 1000)
        shown.watch(400, 1000)
        shown.watch(500, 1000)
    assert capsys.readouterr().err.splitlines() == ["prices: 6 documents", "prices: 6 documents: 40% of 1,000 tokens"]


def test_a_sweep_is_evaluated_on_dev_its_test_split_opens_on_record_and_it_is_filled_later(finished, tmp_path, said):
    """On a copy: the ledger gets more."""
    sweep = tmp_path / "sweep"
    shutil.copytree(finished["sweep"], sweep)
    checkpoint = sweep / Path(finished["trials"][0]["checkpoints"][-1]).relative_to(finished["sweep"])
    found = told(said, checkpoint, "--sweep", sweep, "--suite", "q2c", "--precision", "float32")
    assert {row["task"] for row in found["results"]} == {"dev"}
    dev = finished["trials"][0]["metrics"]["dev/q2c/nDCG@10"]
    assert found["figures"]["q2c/nDCG@10"] == pytest.approx(dev, abs=1e-9)
    done = stockpot("evaluate", "--backfill", sweep, "--suite", "spans", "--json", timeout=300)
    assert len(json.loads(done.stdout)["measured"]) >= 4
    again = json.loads(stockpot("evaluate", "--backfill", sweep, "--suite", "spans", "--json").stdout)
    assert not again["measured"] and len(again["held"]) == len(json.loads(done.stdout)["measured"])
    status = json.loads(stockpot("status", sweep, "--json").stdout)
    assert "dev/spans/SpanHit@1" in status["trials"][0]["metrics"]
    code, _, err = said("evaluate", checkpoint, "--corpus", sweep / "corpora" / "test", "--suite", "q2c")
    assert code == 2 and "--open-test" in err and not Ledger.open(sweep).state().openings
    found = told(said, checkpoint, "--sweep", sweep, "--open-test", "--suite", "q2c", "--precision", "float32")
    assert {row["task"] for row in found["results"]} == {"test"}
    assert [each["by"] for each in Ledger.open(sweep).state().openings] == [str(checkpoint)]
