"""A suite that comes later: once for every kept checkpoint and baseline, never twice, into the ledger."""

from __future__ import annotations

import json
import shutil

import pytest
import yaml

import sweeps.backfill
from corpora import native
from corpora.documents import Corpus, Document, Query, Target
from corpora.errors import InputError, StockpotError
from corpora.files import sha256_of
from evaluators.results import Results
from evaluators.suite_file import load
from sweeps.backfill import backfill
from sweeps.config import load as load_sweep
from sweeps.ledger import Ledger
from tests.sweeps.tiny_sweep import sweep_file
from trainables.base import build_base
from trainables.student import Student


def small_corpus(name, count):
    texts = [f"item {n} costs {n * 7} pounds. it is due in week {n}." for n in range(count)]
    answers = [((0, text.index(".") + 1),) for text in texts]
    return Corpus(name, tuple(Document(f"{name}{n}", text) for n, text in enumerate(texts)), tuple(
        Query(f"q{n}", f"what does item {n} cost?", (Target(f"{name}{n}", answers=answers[n]),)) for n in range(count)))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A sweep that ended: a trial with two checkpoints, scored on dev, and the untrained student as baseline."""
    place = tmp_path_factory.mktemp("made")
    config = load_sweep(sweep_file(place))
    folder = place / "sweep"
    native.write(small_corpus("dev", 6), folder / "corpora" / "dev")
    base = build_base(config.student, folder / "store")
    student = Student.load(base)
    sweep = {
        "sweep_id": "s1", "name": "made", "config": config.model_dump(mode="json", by_alias=True),
        "attributes": {"config": config.sha256, "code": "c", "data": {"dev": "d" * 40}},
        "places": {"base": str(base.relative_to(folder)), "inline": "none", "splits": {"dev": ["corpora/dev"]}},
    }
    ledger = Ledger.create(folder, sweep, 1.0)
    scores = {"split": "dev", "figures": {"dev/q2c/nDCG@10": 0.5}, "per_query": "ledger/scores/none.parquet"}
    ledger.append("proposed", {"ordinal": 0, "params": {}, "varied": {}}, 2.0)
    ledger.append("started", {"ordinal": 0}, 3.0)
    for step in (2, 4):
        saved = student.save(folder / "trials" / "t" / f"step-{step:06d}", step=step, seed=0)
        sha256 = sha256_of(saved / "model.safetensors")
        ledger.append("checkpoint", {"ordinal": 0, "step": step, "folder": str(saved.relative_to(folder)), "sha256": sha256}, 4.0)
        ledger.append("scores", {"ordinal": 0, "step": step, **scores}, 5.0)
    ledger.append("ended", {"ordinal": 0, "status": "finished"}, 6.0)
    ledger.append("baseline", {"name": "untrained student", **scores}, 7.0)
    ledger.append("closed", {"status": "finished"}, 8.0)
    return folder


@pytest.fixture
def sweep(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path / "sweep")
    synced = []
    monkeypatch.setattr(sweeps.backfill, "sync", lambda *arguments: synced.append(arguments))
    return tmp_path / "sweep", synced


def run(folder, suites):
    return backfill(folder, suites, lambda: 100.0, lambda line: None)


def events(folder):
    return sum(len(json.loads(path.read_text())["events"]) for path in (folder / "ledger" / "events").glob("*.json"))


def test_suites_by_name_on_dev(sweep):
    folder, synced = sweep
    filled = run(folder, ["spans", "needle", "q2c"])
    rows = ["untrained student", "trial 0, step 2", "trial 0, step 4"]
    assert filled.measured == rows and not filled.failed and len(synced) == 1
    state = Ledger.open(folder).state()
    held = state.trials[0].checkpoints[2].scores
    assert set(held) == {"dev", "dev/spans", "dev/needle"}
    assert dict(held["dev"].figures) == {"dev/q2c/nDCG@10": 0.5}
    assert all(name.startswith("dev/spans/") for name in held["dev/spans"].figures)
    results = Results.from_parquet(folder / held["dev/spans"].per_query)
    assert held["dev/spans"].figures["dev/spans/SpanHit@1"] == results.figures()["spans/SpanHit@1"]
    assert "dev/needle/AUC@128" in held["dev/needle"].figures
    assert ("untrained student", "dev/spans") in state.baselines
    before = events(folder)
    again = run(folder, ["spans", "needle"])
    assert again.held == rows and not again.measured and events(folder) == before and len(synced) == 1


def test_what_was_interrupted_goes_on_and_removed_checkpoints_are_told(sweep, monkeypatch):
    folder, _ = sweep
    whole, done = sweeps.backfill.run_job, []

    def stops(job, tasks):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(job)
        return whole(job, tasks)

    monkeypatch.setattr(sweeps.backfill, "run_job", stops)
    with pytest.raises(KeyboardInterrupt):
        run(folder, ["spans"])
    monkeypatch.setattr(sweeps.backfill, "run_job", whole)
    shutil.rmtree(folder / "trials" / "t" / "step-000004")
    filled = run(folder, ["spans"])
    assert (filled.held, filled.measured, filled.missing) == (["untrained student", "trial 0, step 2"], [], ["trial 0, step 4"])


def test_a_suite_file_with_tasks_of_its_own(sweep, tmp_path):
    folder, _ = sweep
    native.write(small_corpus("other", 5), tmp_path / "other")
    content = {"name": "prices", "tasks": [{"corpus": "other", "domain": "shop"}], "suites": ["q2c", "storage"], "dimensions": [8, 64]}
    path = tmp_path / "prices.yaml"
    path.write_text(yaml.safe_dump(content))
    assert len(run(folder, load(path)).measured) == 3
    held = Ledger.open(folder).state().trials[0].checkpoints[4].scores["prices"]
    assert {"prices/q2c/nDCG@10", "prices/storage/nDCG@10[d=8,int8]"} <= set(held.figures)
    assert not any("d=64" in name for name in held.figures)  # wider than the model
    assert Results.from_parquet(folder / held.per_query).tasks.domain.tolist() == ["shop"]
    assert len(run(folder, load(path)).held) == 3
    path.write_text(yaml.safe_dump({**content, "k": [3]}))
    with pytest.raises(InputError, match="another `name`"):
        run(folder, load(path))


def test_what_is_refused(sweep, tmp_path):
    folder, _ = sweep
    before = events(folder)
    with pytest.raises(InputError, match="q3c"):
        run(folder, ["q3c"])
    (tmp_path / "dev.yaml").write_text("suites: [q2c]\n")
    with pytest.raises(InputError, match="name of a split"):
        run(folder, load(tmp_path / "dev.yaml"))
    assert events(folder) == before
    with pytest.raises(StockpotError, match="holds no sweep"):
        run(tmp_path / "nowhere", ["spans"])
    assert not (tmp_path / "nowhere").exists()
