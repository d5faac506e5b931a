"""What the sweep ships, as a logged model with its files and a version of a registered model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import StockpotError
from sweeps.keys import metric_keys
from sweeps.ledger_state import LedgerState
from sweeps.mlflow_inputs import dataset_of, log_splits
from sweeps.mlflow_limits import LONGEST_TAG, METRICS, batches, fitted, milliseconds

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import LoggedModel


def shipped_model(state: LedgerState) -> Mapping[str, Any] | None:
    """The newest `shipped` event: folder (from the sweep's folder), decision, reason, metrics under the ledger's names."""
    shipped = [event for (what, _), event in state.soup.items() if what == "shipped"]
    return max(shipped, key=lambda event: event["time"], default=None)


def registered_name(state: LedgerState) -> str:
    """The config's `mlflow.register` as it is, else the sweep's name without the characters MLflow refuses."""
    chosen = (state.sweep["config"].get("mlflow") or {}).get("register")
    return chosen or re.sub(r"[^\w .-]", "-", state.sweep["name"]).strip(" .")[:250] or "stockpot"


def project_shipped(client: MlflowClient, experiment_id: str, run_id: str, folder: Path, state: LedgerState) -> None:
    """Found by tag before it is made; its files are copied into the store, so a version always points to real ones."""
    event = shipped_model(state)
    if event is None:
        return
    model = _logged_model(client, experiment_id, run_id, folder / event["folder"], state, event)
    _metrics(client, run_id, model, state, event)
    _version(client, run_id, model, state, event)


def _logged_model(
    client: MlflowClient, experiment_id: str, run_id: str, files: Path, state: LedgerState, event: Mapping[str, Any]
) -> LoggedModel:
    """READY once all files are there, so an interrupted copy is done again."""
    from mlflow.entities import LoggedModelOutput

    tags = {
        "stockpot.kind": "shipped",
        "stockpot.sweep_id": state.sweep["sweep_id"],
        "stockpot.key": event["key"],
        "stockpot.decision": event["decision"],
        "stockpot.reason": fitted(event["reason"], LONGEST_TAG, "soup.json"),
        "stockpot.folder": event["folder"],
    }
    ours = client.search_logged_models([experiment_id], f"tags.`stockpot.sweep_id` = '{tags['stockpot.sweep_id']}'")
    same = [model for model in ours if model.tags.get("stockpot.key") == event["key"]]
    found = sorted(same, key=lambda model: model.model_id)
    model = found[0] if found else client.create_logged_model(experiment_id, "shipped", run_id, tags, None, "checkpoint")
    for twin in found[1:]:
        client.delete_logged_model(twin.model_id)
    if model.status != "READY":
        if not files.is_dir():
            raise StockpotError(f"{files} is missing: it holds the model that the ledger says ships")
        client.log_model_artifacts(model.model_id, str(files))
        client.finalize_logged_model(model.model_id, "READY")
    if model.model_id not in {output.model_id for output in client.get_run(run_id).outputs.model_outputs}:
        client.log_outputs(run_id, [LoggedModelOutput(model.model_id, 0)])
    return model


def _metrics(client: MlflowClient, run_id: str, model: LoggedModel, state: LedgerState, event: Mapping[str, Any]) -> None:
    from mlflow.entities import Metric

    held = {metric.key for metric in model.metrics or ()}
    points = []
    for name, key in metric_keys(event["metrics"]).items():
        if key not in held:
            dataset, when = dataset_of(state, name.partition("/")[0]), milliseconds(event["time"])
            points.append(Metric(key, event["metrics"][name], when, 0, model.model_id, dataset.name, dataset.digest))
    log_splits(client, run_id, state, {name.partition("/")[0] for name in event["metrics"]})
    for chunk in batches(points, METRICS):
        client.log_batch(run_id, metrics=chunk)


def _version(client: MlflowClient, run_id: str, model: LoggedModel, state: LedgerState, event: Mapping[str, Any]) -> None:
    from mlflow.exceptions import MlflowException

    name = registered_name(state)
    try:
        client.get_registered_model(name)
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        client.create_registered_model(name, {"stockpot.kind": "shipped"}, "What stockpot's sweeps ship.")
    found = client.search_model_versions(f"tags.`stockpot.model_id` = '{model.model_id}'")
    versions = [version for version in found if version.name == name]  # a name may hold quotes, which filters cannot
    if versions:
        version = versions[0]
    else:
        sweep_id = state.sweep["sweep_id"]
        tags = {"stockpot.model_id": model.model_id, "stockpot.sweep_id": sweep_id, "stockpot.key": event["key"]}
        words = f"{event['decision']}: {event['reason']}"
        version = client.create_model_version(
            name, model.artifact_location, run_id, tags, description=words, model_id=model.model_id, await_creation_for=0
        )
    # The logged model's page knows of its version by this tag alone.
    shown = json.dumps([{"name": name, "version": int(version.version)}])
    client.set_logged_model_tags(model.model_id, {"mlflow.modelVersions": shown})
