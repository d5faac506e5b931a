"""Small ledgers made by hand, and a reading of MLflow to hold against them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

from evaluators.results import COUNTS, PER_QUERY, TASKS, Results, split_figure
from sweeps.keys import metric_key, param_key
from sweeps.ledger import Ledger
from sweeps.ledger_state import LedgerState
from sweeps.summary import flat, readable
from sweeps.system_metrics import system_points

STEPS = (20, 40, 60)
CONFIG = {"name": "made", "search": {"objectives": [{"metric": "context/Answer@10", "direction": "maximize"}]}, "mlflow": {}}


def begin(folder: Path, name: str = "made") -> Ledger:
    sweep = {
        "sweep_id": "0123456789ab",
        "name": name,
        "config": CONFIG | {"name": name},
        "attributes": {"config": "c" * 64, "code": "k" * 64, "data": {"dev": "d" * 64, "confirm": "f" * 64}},
    }
    return Ledger.create(folder, sweep, 1_000_000.0)


def figures(ordinal: int, step: int, split: str = "dev") -> dict[str, float]:
    """Over a hundred figures for trial 0: more than MLflow's own deduplication of model metrics bears."""
    found = {
        f"{split}/context/Document@1": 0.9 - 0.1 * ordinal,
        f"{split}/context/Answer@10": 0.1 + 0.1 * ordinal + step / 1000,
        f"{split}/q2c/nDCG@10": 1 / (3 + ordinal),
        f"{split}/chunk-size/drop": 4.5,
    }
    found |= {f"{split}/chunk-size/nDCG@10[tokens:{size}]": 0.5 - size / 2000 for size in (64, 128, 256, 512)}
    for dimension in (16, 64):
        for number, precision in enumerate(("float32", "int8", "binary")):
            found[f"{split}/storage/nDCG@10[d={dimension},{precision}]"] = dimension / 300 - number / 50
    return found | {f"{split}/context/Answer@{k}": k / 1000 for k in range(11, 111 if ordinal == 0 else 13)}


def trial(ledger: Ledger, ordinal: int, end: str = "finished", steps: tuple[int, ...] = STEPS, reason: str = "") -> None:
    """Proposes and runs a trial of `steps`, scored on dev; an empty `end` leaves it running."""
    now = 1_000_100.0 + 100 * ordinal
    varied = {"weight": 0.25 * ordinal, "chunking_mix": {"sentence": 1.0}}
    params = varied | {"steps": 60, "learning_rate": 1 / 3, "warm": True, "note": "ü <b>\n'quoted'\"@/"}
    ledger.append("proposed", {"ordinal": ordinal, "params": params, "varied": varied}, now)
    ledger.append("started", {"ordinal": ordinal}, now + 1.5)
    for step in steps:
        advance(ledger, ordinal, step)
    if end:
        ledger.append("ended", {"ordinal": ordinal, "status": end, "reason": reason}, now + 90)


def advance(ledger: Ledger, ordinal: int, step: int, scored: bool = True) -> None:
    now = 1_000_100.0 + 100 * ordinal + step
    metrics = {"loss": 3 / step, "loss/document": 1 / step, "inline/Answer@10": step / 100}
    usage = {"cpu_utilization_percentage": 95.0 + ordinal, "peak_memory_megabytes": 500.0 + step}
    folder = f"trials/{ordinal}/step-{step:06d}"
    ledger.append_all([
        ("report", {"ordinal": ordinal, "step": step, "metrics": metrics, "seconds": {"train": 7.5}, "system": usage}),
        ("checkpoint", {"ordinal": ordinal, "step": step, "folder": folder, "sha256": f"{ordinal:032d}{step:032d}"}),
    ], now)  # fmt: skip
    if scored:
        per_query = f"ledger/scores/{ordinal}-{step}.parquet"
        scores = {"ordinal": ordinal, "step": step, "split": "dev", "figures": figures(ordinal, step),
                  "per_query": per_query, "seconds": 3.5}  # fmt: skip
        ledger.append("scores", scores, now + 0.25)


def write_results(path: Path, ordinal: int, step: int) -> None:
    """Two queries' values behind `figures`, as an evaluation leaves them beside the ledger."""
    held, rows = figures(ordinal, step), []
    for name, value in held.items():
        suite, metric, axes = split_figure(name.removeprefix("dev/"))
        dimension, precision = axes.removeprefix("d=").split(",") if suite == "storage" else (64, "float32")
        chunking = axes if suite == "chunk-size" and axes else "sentence"
        rows += [(suite, "task", chunking, int(dimension), precision, metric, query, value) for query in ("q1", "q2")]
    frame = pd.DataFrame(rows, columns=PER_QUERY)
    queries = pd.DataFrame({"task": ["task"] * 2, "query": ["q1", "q2"], "ability": None, "domain": None, "family": "f"})
    tasks = pd.DataFrame([("task", None, "0" * 64, "dev", 3, 2)], columns=TASKS)
    counts = pd.DataFrame([("q2c", "task", "sentence", 64, "float32", "ties", 0)], columns=COUNTS)
    Results(f"{ordinal}", frame, queries, tasks, counts).to_parquet(path)


def baselines(ledger: Ledger) -> None:
    for name in ("BM25", "untrained student"):
        ledger.append("baseline", {"name": name, "split": "dev", "figures": figures(0, 0), "per_query": "x"}, 1_000_050.0)


def ship(ledger: Ledger, folder: Path, key: str = "first") -> None:
    """A shipped model of two files."""
    (folder / "soup" / "1_Pooling").mkdir(parents=True, exist_ok=True)
    (folder / "soup" / "model.safetensors").write_bytes(b"weights" * 1000)
    (folder / "soup" / "1_Pooling" / "config.json").write_text("{}")
    event = {"what": "shipped", "key": key, "folder": "soup", "decision": "soup", "reason": "certifiably better",
             "ingredients": [{"folder": "trials/0/step-000060", "weight": 1.0}], "rejected": None,
             "metrics": figures(3, 60, "dev") | figures(3, 60, "confirm")}  # fmt: skip
    ledger.append("soup", event, 1_002_000.0)


def close(ledger: Ledger, status: str = "finished") -> None:
    ledger.append("closed", {"status": status}, 1_003_000.0)


def read_mlflow(uri: str, experiment: str = "made") -> dict[str, Any]:
    """`parent` run, `trials` by trial_id with whole metric histories, `models` by (trial_id, step); fails on doubles."""
    from mlflow import MlflowClient

    client = MlflowClient(uri, registry_uri=uri)
    where = client.get_experiment_by_name(experiment).experiment_id
    runs = client.search_runs([where], max_results=1000)
    parents = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    children = [run for run in runs if "mlflow.parentRunId" in run.data.tags]
    assert len(parents) == 1, [run.info.run_name for run in parents]
    assert all(run.data.tags["mlflow.parentRunId"] == parents[0].info.run_id for run in children)
    counts = Counter(run.data.tags["stockpot.trial_id"] for run in children)
    assert set(counts.values()) <= {1}, counts
    trials = {}
    for run in children:
        history = {key: client.get_metric_history(run.info.run_id, key) for key in run.data.metrics}
        points = {key: [(m.step, m.timestamp, m.value) for m in found] for key, found in history.items()}
        trials[run.data.tags["stockpot.trial_id"]] = (run, points)
    models = client.search_logged_models([where], max_results=1000)
    checkpoints = [model for model in models if model.tags["stockpot.kind"] == "checkpoint"]
    by_step = {(model.tags["stockpot.trial_id"], int(model.tags["stockpot.step"])): model for model in checkpoints}
    assert len(by_step) == len(checkpoints), "a checkpoint has two logged models"
    shipped = [model for model in models if model.tags["stockpot.kind"] == "shipped"]
    return {"client": client, "parent": parents[0], "trials": trials, "models": by_step, "shipped": shipped}


def assert_equal_to_ledger(state: LedgerState, uri: str, experiment: str = "made") -> dict[str, Any]:
    """MLflow holds the ledger: exactly its trials, params and every point of every metric once."""
    found = read_mlflow(uri, experiment)
    assert set(found["trials"]) == {trial.trial_id for trial in state.trials.values()}
    for one in state.trials.values():
        run, points = found["trials"][one.trial_id]
        expected: dict[str, list[tuple[int, int, float]]] = {}
        for point in system_points(one):
            expected.setdefault(point.key, []).append((point.step, round(point.time * 1000), point.value))
        for step, report in one.reports.items():
            for name, value in report.metrics.items():
                expected.setdefault(metric_key(name), []).append((step, round(report.time * 1000), value))
        for step, checkpoint in one.checkpoints.items():
            model = found["models"][one.trial_id, step]
            linked = {}
            for split, scores in checkpoint.scores.items():
                for name, value in scores.figures.items():
                    expected.setdefault(metric_key(name), []).append((step, round(scores.time * 1000), value))
                    linked[metric_key(name)] = (value, split)
            assert {m.key: (m.value, m.dataset_name) for m in model.metrics or ()} == linked
            assert (model.source_run_id, model.status, model.tags["stockpot.sha256"]) == (
                run.info.run_id, "READY", checkpoint.sha256)  # fmt: skip
        assert {key: sorted(history) for key, history in points.items()} == {k: sorted(v) for k, v in expected.items()}
        assert run.data.params == {param_key(name): readable(value) for name, value in flat(one.params)}
        outputs = [(output.model_id, output.step) for output in run.outputs.model_outputs] if run.outputs else []
        assert sorted(outputs) == sorted((found["models"][one.trial_id, step].model_id, step) for step in one.checkpoints)
    assert len(found["models"]) == sum(len(one.checkpoints) for one in state.trials.values())
    return found
