"""What a plan says that MLflow will be asked, against what the projector asks."""

from __future__ import annotations

from collections import Counter

import pytest

from sweeps import mlflow_store
from sweeps.config import Evaluation
from sweeps.estimates import Estimate, mlflow_load
from sweeps.projector import Projector
from tests.sweeps import made_ledgers as made


class Counting:
    """A client that counts what is asked of it."""

    def __init__(self, client, counts: Counter):
        self._client, self._counts = client, counts

    def __getattr__(self, name: str):
        method = getattr(self._client, name)

        def counted(*arguments, **how):
            self._counts[name] += 1
            return method(*arguments, **how)

        return counted if callable(method) else method


@pytest.mark.parametrize("trials", [1, 6])
def test_requests_runs_and_models_are_as_planned(tmp_path, monkeypatch, trials):
    ledger = made.begin(tmp_path)
    for ordinal in range(1, trials + 1):
        made.trial(ledger, ordinal)
    made.ship(ledger, tmp_path)
    made.close(ledger)
    counts: Counter = Counter()
    opened = mlflow_store.open_client
    monkeypatch.setattr(mlflow_store, "open_client", lambda uri: Counting(opened(uri), counts))
    Projector(tmp_path).update()
    steps = len(made.STEPS)
    found = Estimate(trials, 60 * trials, steps * trials, 0, 0, 0, 0, 0, 0, 0)
    planned = mlflow_load(found, Evaluation())
    assert counts["create_run"] == planned.runs and counts["create_logged_model"] == planned.logged_models
    assert sum(counts.values()) == pytest.approx(planned.requests, rel=0.3), counts
