"""A whole sweep from the outside: the command line, MLflow's API, the folders it leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from sweeps.comparison import comparable
from sweeps.keys import metric_keys
from sweeps.ledger import Ledger
from sweeps.system_metrics import system_points
from tests.stockpot.command import stockpot


@pytest.fixture(scope="session")
def client(finished):
    from mlflow import MlflowClient

    return MlflowClient(finished["mlflow"]["uri"])


@pytest.fixture(scope="session")
def runs(finished, client):
    experiment = client.get_experiment_by_name(finished["mlflow"]["experiment"])
    return client.search_runs([experiment.experiment_id], max_results=1000)


def test_the_object_for_scripts_names_everything(finished):
    assert Path(finished["sweep"]).is_dir() and finished["status"] == "finished"
    assert set(finished["mlflow"]) == {"uri", "experiment", "parent_run_id"}
    assert len(finished["trials"]) == 3
    for trial in finished["trials"]:
        assert {"trial_id", "run_id", "status", "params", "metrics", "checkpoints"} <= set(trial)
        assert trial["status"] in ("finished", "stopped")
        assert all((Path(folder) / "model.safetensors").is_file() for folder in trial["checkpoints"])
        assert {"inline/Answer@10", "dev/context/Answer@10", "dev/q2c/nDCG@10", "dev/q2d/nDCG@10"} <= set(trial["metrics"])
    assert "dev/context/Answer@10" in finished["baseline"]
    assert finished["soup"]["decision"] in ("soup", "best-single")


def test_stdout_is_the_result_and_stderr_the_progress(finished):
    lines = finished["stderr"].splitlines()
    assert any("trials 3/3" in line for line in lines)
    assert not [line for line in lines if "Warning" in line or "Traceback" in line or "INFO" in line]
    assert len(lines) < 60


def test_mlflow_holds_one_parent_and_exactly_one_child_per_trial(finished, runs):
    parents = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    children = [run for run in runs if "mlflow.parentRunId" in run.data.tags]
    assert [run.info.run_id for run in parents] == [finished["mlflow"]["parent_run_id"]]
    assert sorted(run.info.run_id for run in children) == sorted(trial["run_id"] for trial in finished["trials"])
    assert {run.data.tags["mlflow.parentRunId"] for run in children} == {parents[0].info.run_id}


def test_each_metric_in_mlflow_equals_the_ledgers(finished, client):
    """What a trial took of its machine differs from run to run: it stands under `system/`, beside the object's metrics."""
    state = Ledger.open(Path(finished["sweep"])).state()
    for trial in finished["trials"]:
        held = client.get_run(trial["run_id"]).data.metrics
        expected = {key: trial["metrics"][name] for name, key in metric_keys(trial["metrics"]).items()}
        taken = sorted(system_points(state.trials[trial["ordinal"]]), key=lambda point: point.step)
        expected |= {point.key: point.value for point in taken}  # the newest step is what a run shows
        assert held == expected


def test_metric_histories_hold_every_step_once(finished, client):
    state = Ledger.open(Path(finished["sweep"])).state()
    for ordinal, trial in state.trials.items():
        run = finished["trials"][ordinal]["run_id"]
        (key,) = metric_keys(["dev/context/Answer@10"]).values()
        history = {point.step: point.value for point in client.get_metric_history(run, key)}
        assert len(client.get_metric_history(run, key)) == len(history)
        assert history == {s: c.scores["dev"].figures["dev/context/Answer@10"] for s, c in trial.checkpoints.items()}


def test_what_ships_is_a_registered_model_with_its_files(finished, client):
    (version,) = client.search_model_versions("name = 'tiny-model'")
    model = client.get_logged_model(version.tags["stockpot.model_id"])
    assert model.status == "READY"
    names = [file.path for file in client.list_logged_model_artifacts(model.model_id)]
    assert any(name.endswith("model.safetensors") for name in names) and any(name.endswith("modules.json") for name in names)


def test_the_soups_tensors_are_the_mean_of_its_ingredients_rounded_once(finished):
    soup = finished["soup"]["rejected"] or finished["soup"]
    found = load_file(Path(soup["folder"]) / "model.safetensors")
    parts = [load_file(Path(one["folder"]) / "model.safetensors") for one in soup["ingredients"]]
    weights = [one["weight"] for one in soup["ingredients"]]
    assert sum(weights) == pytest.approx(1)
    for name, tensor in found.items():
        mean = sum(weight * part[name].double() for weight, part in zip(weights, parts, strict=True))
        assert torch.equal(tensor, mean.float()), name


def test_what_ships_gives_the_same_query_vectors_through_sentence_transformers(finished):
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModel

    from trainables.student import StudentEncoder

    folder, texts = finished["soup"]["folder"], ["what is the rent of the flat?", "who signed", "period 2019"]
    ours = StudentEncoder.load(Path(folder)).queries(texts)
    np.testing.assert_allclose(SentenceTransformer(folder, device="cpu").encode(texts), ours, atol=1e-5)
    assert AutoModel.from_pretrained(folder).config.num_hidden_layers == 1


def test_every_ndcg_equals_pytrec_evals_on_the_exported_run(finished, tmp_path):
    import pandas as pd
    import pytrec_eval

    from evaluators import trec

    dev = Path(finished["sweep"]) / "corpora" / "dev"
    stockpot("evaluate", finished["soup"]["folder"], "--corpus", dev, "--suite", "q2c,q2d", "--precision", "float32,int8",
             "--dimensions", "16,8", "--runs", tmp_path, "--per-query", tmp_path / "q.parquet", timeout=300)
    rows = pd.read_parquet(tmp_path / "q.parquet")
    compared = 0
    for (suite, dimension, precision), group in rows[rows.metric == "nDCG@10"].groupby(
        ["suite", "dimension", "precision"], observed=True
    ):
        kind = "chunks" if suite == "q2c" else "documents"
        run = trec.read_run(tmp_path / f"dev.sentence.d{dimension}.{precision}.{kind}.run")
        qrels = trec.read_qrels(tmp_path / f"dev.sentence.{kind}.qrels")
        expected = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10"}).evaluate(run)
        for row in group.itertuples():
            assert row.value == pytest.approx(expected[row.query]["ndcg_cut_10"], abs=1e-9)
            compared += 1
    assert compared >= 8 * 100


def test_soup_again_returns_the_recorded_verdict(finished):
    again = stockpot("soup", finished["sweep"], "--json", check=False, timeout=300)
    assert again.returncode == (0 if finished["soup"]["decision"] == "soup" else 3), again.stderr
    assert json.loads(again.stdout)["soup"] == finished["soup"]
    assert "the recorded verdict stands" in again.stderr and "probing" not in again.stderr


def test_status_and_a_second_sweep_in_the_same_folder(finished, tiny_yaml):
    told = json.loads(stockpot("status", finished["sweep"], "--json").stdout)
    assert told["trials"][0]["metrics"] == finished["trials"][0]["metrics"]
    refused = stockpot("sweep", tiny_yaml, "--out", finished["sweep"], check=False)
    assert refused.returncode == 2 and "--resume" in refused.stderr and "Traceback" not in refused.stderr


def test_the_same_seed_gives_the_same_ledger_and_interruptions_change_nothing(finished, tiny_yaml, tmp_path):
    """SIGTERM in the middle, kill -9 of the driver after the first checkpoint, then --resume: the undisturbed ledger."""
    out = tmp_path / "disturbed"
    command = [sys.executable, "-c", "from stockpot.cli import main; main()", "sweep", str(tiny_yaml), "--out", str(out)]
    for number, (blow, reports) in enumerate(((signal.SIGTERM, 0), (signal.SIGKILL, 1))):
        driver = subprocess.Popen(
            command + ["--resume"] * (number > 0), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        _wait_for(lambda: _progress(out) > reports or driver.poll() is not None, 300)
        os.kill(driver.pid, blow)
        said = driver.communicate(timeout=120)[1]
        assert "Traceback" not in said
        assert driver.returncode == (1 if blow == signal.SIGTERM else -signal.SIGKILL), said
        assert blow == signal.SIGKILL or "--resume goes on from there" in said
    done = stockpot("sweep", tiny_yaml, "--out", out, "--resume", "--json", timeout=900)
    state = Ledger.open(out).state()
    assert comparable(state) == comparable(Ledger.open(Path(finished["sweep"])).state())
    assert len({trial["run_id"] for trial in json.loads(done.stdout)["trials"]}) == 3

    from mlflow import MlflowClient

    client = MlflowClient(json.loads(done.stdout)["mlflow"]["uri"])
    found = client.search_runs([client.get_experiment_by_name("tiny").experiment_id])
    assert len(found) == 4, "one parent and one run per trial, however often the driver was killed"


def _progress(out: Path) -> int:
    """Proposals and reports in the ledger so far."""
    if not (out / "ledger" / "events").is_dir() or not list((out / "ledger" / "events").glob("*.json")):
        return 0
    return sum(1 + len(trial.reports) for trial in Ledger.open(out).state().trials.values())


def _wait_for(condition, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.2)
