"""What a sweep and its trials are doing, as users read it: the ledger's words, and `interrupted` for what nobody works at."""

from __future__ import annotations

import time
from pathlib import Path

from sweeps.lease import living_driver
from sweeps.ledger_state import LedgerState, Trial


def sweep_status(folder: Path, state: LedgerState) -> str:
    """running, finished, interrupted or failed: what a killed driver left behind as running is interrupted."""
    gone = state.status == "running" and living_driver(folder, time.time()) is None
    return "interrupted" if gone else state.status


def trial_status(trial: Trial, of_sweep: str) -> str:
    """The ledger's status; a trial that waits for the sweep to be resumed is `interrupted`."""
    return trial.status if trial.has_ended or of_sweep == "running" else "interrupted"
