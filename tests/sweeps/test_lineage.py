"""What tables, scripts and MLflow say of a trial that went on from another one's checkpoint."""

from __future__ import annotations

import json

import pytest

import stockpot
from stockpot.contract import sweep_object
from stockpot.table import sweep_table
from sweeps import figures, summary
from sweeps.projector import sync
from sweeps.replicates import replicated
from tests.sweeps import made_ledgers

BEGAN = {"weight": 0.25, "chunking_mix": {"sentence": 1.0}}
TAKEN = {"weight": 0.75, "chunking_mix": {"sentence": 1.0}}


@pytest.fixture
def ledger(tmp_path):
    """Trial 1 goes on from trial 0's checkpoint of step 20, as weight 0.75; its best checkpoint is of step 60."""
    ledger = made_ledgers.begin(tmp_path)
    made_ledgers.trial(ledger, 0)
    made_ledgers.trial(ledger, 1, "", steps=(20,))
    trials = ledger.state().trials
    donor = {"ordinal": 0, "step": 20, "sha256": trials[0].checkpoints[20].sha256}
    taken = {"ordinal": 1, "step": 20, "donor": donor, "params": trials[1].params | TAKEN, "varied": TAKEN}
    ledger.append("exploited", taken, 1_000_230.0)
    for step in (40, 60):
        made_ledgers.advance(ledger, 1, step)
    return ledger


def test_table_rows_and_scripts_have_the_values_that_led_to_the_best_checkpoint(ledger, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    state = ledger.state()
    sweep_table(state)
    assert "w=0.75 mix=sentence (from trial 0 at 20)" in " ".join(capsys.readouterr().out.split())
    columns, rows = summary.results(state)
    row = next(row for row in rows if row[0].startswith("001"))
    assert (row[columns.index("step")], row[columns.index("weight")]) == (60, "0.75")
    frame = stockpot.open(tmp_path).trials
    assert frame.varied[1] == TAKEN and frame["params.weight"].tolist() == [0, 0.75]
    told = sweep_object(tmp_path, state, {})["trials"][1]
    assert told["varied"] == BEGAN and [(one["step"], one["donor"]["ordinal"], one["varied"]) for one in told["exploits"]] == [(20, 0, TAKEN)]


def test_mlflow_has_the_first_params_the_lineage_and_each_checkpoints_own_values(ledger, tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "sweep_figures", lambda state, folder: ())
    for _ in range(2):  # while it runs, and once it has ended
        places = sync(tmp_path)
        found = made_ledgers.assert_equal_to_ledger(ledger.state(), places["uri"])
        trial = ledger.state().trials[1]
        tags = found["trials"][trial.trial_id][0].data.tags
        assert tags["stockpot.lineage"] == "step 20: trial 0's checkpoint, then w=0.75 mix=sentence"
        assert "stockpot.lineage" not in found["trials"][ledger.state().trials[0].trial_id][0].data.tags
        weights = [found["models"][trial.trial_id, step].params["weight"] for step in (20, 40, 60)]
        assert weights == ["0.25", "0.75", "0.75"]
        if not trial.has_ended:
            ledger.append("ended", {"ordinal": 1, "status": "finished"}, 1_000_300.0)


def test_what_was_taken_over_is_no_merit_of_the_setting(ledger, tmp_path):
    """Two replicates of a setting are compared up to the step where one of them left it."""
    params = json.loads(json.dumps(ledger.state().trials[1].params)) | {"seed": 1}
    ledger.append("proposed", {"ordinal": 2, "params": params, "varied": BEGAN}, 1_000_400.0)
    ledger.append("started", {"ordinal": 2}, 1_000_401.0)
    for step in (20, 40, 60):
        made_ledgers.advance(ledger, 2, step)
    (setting,) = replicated(ledger.state())
    assert [trial.ordinal for trial in setting.trials] == [1, 2] and setting.step == 20
