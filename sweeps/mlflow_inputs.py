"""The splits of a sweep as MLflow's dataset inputs, told apart by the hash of their data."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sweeps.ledger_state import LedgerState

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Dataset

PURPOSES = {"train": "training", "dev": "evaluation", "confirm": "certification", "test": "test"}
"""MLflow's context of a dataset, by split."""


def splits_of(state: LedgerState) -> list[str]:
    """The splits whose data the sweep knows."""
    data = state.sweep["attributes"].get("data")
    return [split for split in PURPOSES if split in data] if isinstance(data, dict) else []


def dataset_of(state: LedgerState, split: str) -> Dataset:
    """The data of a split; of `dev/needle`, a suite that was measured later (sweeps/backfill.py), that of dev."""
    from mlflow.entities import Dataset

    split = split.partition("/")[0]
    data = state.sweep["attributes"].get("data", state.sweep["sweep_id"])
    digest = data.get(split, state.sweep["sweep_id"]) if isinstance(data, dict) else f"{data}"
    return Dataset(name=split, digest=digest[:36], source_type="local", source=json.dumps({"corpora": split}))


def log_splits(client: MlflowClient, run_id: str, state: LedgerState, splits: Iterable[str]) -> None:
    """Links the splits to the run; MLflow keeps each once."""
    from mlflow.entities import DatasetInput, InputTag

    inputs = [
        DatasetInput(dataset_of(state, split), [InputTag("mlflow.data.context", PURPOSES.get(split, "evaluation"))])
        for split in sorted(splits)
    ]
    if inputs:
        client.log_inputs(run_id, inputs)
