"""`stockpot corpus generate` and `split` as a user meets them."""

from __future__ import annotations

import json

import pytest

from corpora import native
from corpora.documents import Corpus, Document, Query, Target
from corpora.generator import GeneratorSettings, chance, generate
from corpora.splits import thaw
from tests.stockpot.corpus_folders import ADA, SMALL, leftovers, write


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


def test_a_split_tells_what_a_sweep_over_it_would_lack(corpus_command, tmp_path):
    documents = [{"id": f"d{n}", "text": f"Text number {n} about thing {n * 7919}."} for n in range(12)]
    said = corpus_command("split", write(tmp_path / "c", documents), tmp_path / "s")
    assert said.code == 0
    for name in ("train", "dev", "confirm"):
        assert f"warning: {name} has no query" in said.out
    queries = [{"id": f"q{n}", "text": f"What is {n}?", "targets": [{"document": f"d{n}"}]} for n in range(12)]
    said = corpus_command("split", write(tmp_path / "asked", documents, queries), tmp_path / "t")
    assert said.code == 0 and said.out.count("warning") == 1
    assert "families that queries ask for; under 20 no soup can be certified: give it a larger share" in said.out


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
