"""A made search whose truth is known: `learning_rate` decides, `weight` trades the objectives, `top_n` does nothing."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd

from evaluators.results import COUNTS, PER_QUERY, TASKS, Results
from sweeps.ledger import Ledger

OBJECTIVES = [
    {"metric": "context/Answer@10", "direction": "maximize"},
    {"metric": "context/Document@1", "direction": "maximize"},
    {"metric": "chunk-size/drop", "direction": "minimize"},
]
HOSTILE = "<script>alert('x')</script> \"q\" `$\\frac{` _ü 日本 🙂\nline & two"
MIXES = ({"sentence": 1.0}, {"sentence": 0.5, "tokens:64": 0.5})


def begin(folder: Path, name: str = "search", objectives: int = 2, **config: object) -> Ledger:
    content = {"name": name, "search": {"objectives": OBJECTIVES[:objectives], "sampler": "tpe"},
               "scheduler": {"kind": "asha"}, "mlflow": {}, **config}  # fmt: skip
    data = {"train": "a" * 64, "dev": "d" * 64, "confirm": "f" * 64}
    sweep = {"sweep_id": "fedcba987654", "name": name, "config": content,
             "attributes": {"config": "c" * 64, "code": "k" * 64, "data": data}}  # fmt: skip
    return Ledger.create(folder, sweep, 2_000_000.0)


def figures_of(varied: dict, step: int) -> dict[str, float]:
    rate, weight = varied["learning_rate"], varied["weight"]
    good = math.exp(-(math.log10(rate / 3e-4) ** 2)) * (0.5 + step / 120)
    return {
        "dev/context/Answer@10": good * (0.4 + 0.5 * weight),
        "dev/context/Document@1": good * (0.9 - 0.5 * weight),
        "dev/chunk-size/drop": 10 - 5 * good,
    }


def trials(ledger: Ledger, count: int, seed: int = 0) -> None:
    """Two slots, a minute a trial and an evaluation of 20 s a checkpoint; every seventh fails, trial 3 is retried."""
    rng = np.random.default_rng(seed)
    for ordinal in range(count):
        varied = {"learning_rate": float(10 ** rng.uniform(-5, -2)), "weight": float(rng.uniform(0, 1)),
                  "top_n": int(rng.integers(1, 4)), "chunking_mix": MIXES[int(rng.integers(2))]}  # fmt: skip
        if ordinal % 5 == 0:
            varied["teacher_temperature"] = float(rng.uniform(0.05, 0.5))
        now = 2_000_010.0 + 60 * (ordinal // 2) + ordinal % 2
        ledger.append("proposed", {"ordinal": ordinal, "params": {**varied, "seed": 0, "steps": 40}, "varied": varied}, now)
        ledger.append("started", {"ordinal": ordinal}, now)
        if ordinal == 3:
            ledger.append("retried", {"ordinal": ordinal, "reason": "its worker died"}, now + 10)
            ledger.append("started", {"ordinal": ordinal}, now + 12)
        for step in (20, 40):
            scored(ledger, ordinal, step, figures_of(varied, step), now + step)
        status = "failed" if ordinal % 7 == 6 else "stopped" if ordinal % 3 == 2 else "finished"
        ledger.append("ended", {"ordinal": ordinal, "status": status, "reason": "the loss is not finite" * (status == "failed")}, now + 55)


def scored(ledger: Ledger, ordinal: int, step: int, figures: dict[str, float], now: float, per_query: str | None = None) -> None:
    metrics = {"loss": 3 / step, "inline/Answer@10": step / 100}
    usage = {"cpu_utilization_percentage": 97.5, "peak_memory_megabytes": 512.0 + step}
    ledger.append("report", {"ordinal": ordinal, "step": step, "metrics": metrics,
                             "seconds": {"train": 18.0, "checkpoint": 0.5}, "system": usage}, now)  # fmt: skip
    folder = f"trials/{ordinal}/step-{step:06d}"
    ledger.append("checkpoint", {"ordinal": ordinal, "step": step, "folder": folder, "sha256": f"{ordinal:032d}{step:032d}"}, now)
    event = {"ordinal": ordinal, "step": step, "split": "dev", "figures": figures, "per_query": per_query, "seconds": 20.0}
    ledger.append("scores", event, now + 21)


def replicates(ledger: Ledger, folder: Path, means: dict[str, float], count: int = 3, spread: float = 0.01) -> None:
    """`count` seeds of a setting a name, with values of 200 queries in 40 families behind each; `means`: of Answer@10."""
    rng = np.random.default_rng(1)
    difficulty = rng.normal(0, 0.05, 200)
    ordinal = len(ledger.state().trials)
    for name, mean in means.items():
        for seed in range(count):
            values = np.clip(mean + difficulty + rng.normal(0, 0.02, 200) + spread * (seed - (count - 1) / 2), 0, 1)
            file = f"ledger/scores/{ordinal}.parquet"
            answers(folder / file, values)
            varied = {"note": name}
            now = 2_010_000.0 + 60 * ordinal
            ledger.append("proposed", {"ordinal": ordinal, "params": {**varied, "seed": seed}, "varied": varied}, now)
            ledger.append("started", {"ordinal": ordinal}, now)
            scored(ledger, ordinal, 20, {"dev/context/Answer@10": float(values.mean())}, now + 5, file)
            ledger.append("ended", {"ordinal": ordinal, "status": "finished", "reason": ""}, now + 50)
            ordinal += 1


def answers(path: Path, values: np.ndarray) -> None:
    """Results that hold Answer@10 of these queries, five a family."""
    queries = [f"q{number}" for number in range(len(values))]
    rows = [("context", "task", "sentence", 64, "float32", "Answer@10", query, value)
            for query, value in zip(queries, values, strict=True)]  # fmt: skip
    about = pd.DataFrame({"task": "task", "query": queries, "ability": None, "domain": None,
                          "family": [f"f{number // 5}" for number in range(len(values))]})  # fmt: skip
    tasks = pd.DataFrame([("task", None, "0" * 64, "dev", 3, len(values))], columns=TASKS)
    counts = pd.DataFrame([("context", "task", "sentence", 64, "float32", "ties", 0)], columns=COUNTS)
    Results("made", pd.DataFrame(rows, columns=PER_QUERY), about, tasks, counts).to_parquet(path)
