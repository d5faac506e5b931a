"""When two ledgers say the same: by ordinal, without what differs between two equal runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sweeps.ledger_state import LedgerState

NOT_COMPARED = {"time", "seconds", "system", "folder", "per_query", "trial_id", "sweep_id", "run_id", "host", "reason"}


def comparable(state: LedgerState) -> dict[str, Any]:
    """The state without ids, times, hosts, folders and reasons: equal for two runs of the same deterministic sweep."""
    return {
        "config": state.sweep["attributes"].get("config"),
        "trials": {
            ordinal: {
                "params": trial.params,
                "varied": trial.varied,
                "status": trial.status,
                "reports": {step: trial.reports[step].metrics for step in sorted(trial.reports)},
                "checkpoints": {
                    step: {"sha256": checkpoint.sha256, "figures": {s: v.figures for s, v in checkpoint.scores.items()}}
                    for step, checkpoint in sorted(trial.checkpoints.items())
                },
                "exploits": {step: [one.donor, one.varied] for step, one in sorted(trial.exploits.items())},
            }
            for ordinal, trial in sorted(state.trials.items())
        },
        "baselines": {f"{split}/{name}": scores.figures for (name, split), scores in sorted(state.baselines.items())},
        "soup": {"/".join(key): without_places(payload) for key, payload in sorted(state.soup.items())},
    }


def without_places(value: Any) -> Any:
    """Payloads without what differs between two equal runs: ids, times, folders."""
    if isinstance(value, Mapping):
        return {key: without_places(inner) for key, inner in value.items() if key not in NOT_COMPARED}
    return [without_places(inner) for inner in value] if isinstance(value, list) else value
