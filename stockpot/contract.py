"""What `--json` prints of a sweep: the contract for scripts, made from the ledger alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sweeps.constraints import UNTRAINED
from sweeps.ledger_state import LedgerState, Trial
from sweeps.projected_model import shipped_model
from sweeps.status import sweep_status, trial_status


def sweep_object(folder: Path, state: LedgerState, mlflow: dict[str, Any]) -> dict[str, Any]:
    """`mlflow`: what `Projector.places` gives; `metrics` are under the ledger's names everywhere."""
    runs, status = mlflow.get("runs", {}), sweep_status(folder, state)
    untrained = state.baselines.get((UNTRAINED, "dev"))
    return {
        "sweep": str(folder),
        "status": status,
        "mlflow": {key: mlflow.get(key) for key in ("uri", "experiment", "parent_run_id")},
        "trials": [_trial(folder, trial, runs, trial_status(trial, status)) for _, trial in sorted(state.trials.items())],
        "soup": soup_object(folder, state),
        "baseline": dict(untrained.figures) if untrained else {},
    }


def soup_object(folder: Path, state: LedgerState) -> dict[str, Any] | None:
    """What ships; None while nothing has been certified."""
    newest = shipped_model(state)
    if newest is None:
        return None
    return {
        **_places(folder, newest),
        "decision": newest["decision"],
        "reason": newest["reason"],
        "metrics": newest["metrics"],
        "rejected": newest["rejected"] and {**newest["rejected"], **_places(folder, newest["rejected"])},
    }


def _places(folder: Path, model: Mapping[str, Any]) -> dict[str, Any]:
    """Folders as a script can open them."""
    ingredients = [{"folder": str(folder / one["folder"]), "weight": one["weight"]} for one in model["ingredients"]]
    return {"folder": str(folder / model["folder"]), "ingredients": ingredients}


def last_metrics(trial: Trial) -> dict[str, float]:
    """Every metric of a trial as it stood last: what its MLflow run shows."""
    found: dict[str, float] = {}
    for step in sorted(trial.reports):
        found |= trial.reports[step].metrics
    for step in sorted(trial.checkpoints):
        for scores in trial.checkpoints[step].scores.values():
            found |= scores.figures
    return found


def _trial(folder: Path, trial: Trial, runs: dict[str, str], status: str) -> dict[str, Any]:
    return {
        "trial_id": trial.trial_id,
        "ordinal": trial.ordinal,
        "run_id": runs.get(trial.trial_id),
        "status": status,
        "reason": trial.reason,
        "params": trial.params,
        "varied": trial.varied,
        "exploits": [{"step": step, "donor": one.donor, "varied": one.varied} for step, one in sorted(trial.exploits.items())],
        "metrics": last_metrics(trial),
        "checkpoints": [str(folder / c.folder) for _, c in sorted(trial.checkpoints.items()) if not c.removed],
    }
