"""`stockpot noise` through the command line, and the ties that its result shows."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from corpora.errors import StockpotError
from stockpot.cli import main
from stockpot.table import sweep_table
from sweeps import config
from sweeps.ledger import Ledger
from sweeps.noise import FigureNoise, Noise, noise_of
from sweeps.plan import plan
from tests.stockpot.command import stockpot
from tests.sweeps import made_ledgers as made
from tests.sweeps.tiny_sweep import sweep_file

SMALL = {
    "recipe": {"weight": {"uniform": [0.6, 1]}, "documents_per_batch": 4, "steps": 2, "checkpoint_every": 2, "warmup_steps": 1,
               "decay_steps": 0},
    "evaluation": {"suites": ["context", "q2c"], "inline_queries": 10, "precisions": ["float32"]},
}  # fmt: skip


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> tuple[Path, Path, dict]:
    """(the sweep's file, the folder of the noise, what the command printed)"""
    folder = tmp_path_factory.mktemp("noise")
    file = sweep_file(folder, **SMALL)
    done = stockpot("noise", file, "--replicates", "2", "--out", folder / "noise", "--json", timeout=300)
    return file, folder / "noise", json.loads(done.stdout)


def test_it_states_the_smallest_gain_of_every_suite(measured):
    file, folder, told = measured
    assert told["folder"] == str(folder) and told["replicates"] == 2
    assert told["setting"]["weight"] == pytest.approx(0.8) and "seed" not in told["setting"]
    assert {"context/Answer@10", "context/Document@1", "q2c/nDCG@10"} <= set(told["figures"])
    assert all(one["gain"] >= 0 and one["families"] > 1 for one in told["figures"].values())
    assert any(one["gain"] > 0 for one in told["figures"].values())
    state = Ledger.open(folder).state()
    assert [trial.params["seed"] for trial in state.trials.values()] == [0, 1]
    assert not state.baselines and not state.soup


def test_plan_reads_it_and_refuses_that_of_another_split(measured, tmp_path):
    file, folder, told = measured
    planned = stockpot("plan", file, "--noise", folder)
    gain = 100 * told["figures"]["context/Answer@10"]["gain"]
    assert f"  context/Answer@10: {gain:.1f} points" in planned.stdout
    other = sweep_file(tmp_path, corpora={"generate": "quick", "seed": 1}, **SMALL)
    refused = stockpot("plan", other, "--noise", folder, check=False)
    assert refused.returncode == 2 and "another dev split" in refused.stderr and refused.stdout == ""


def test_status_shows_what_cannot_be_told_apart_as_ties(tmp_path):
    ledger = made.begin(tmp_path)
    for ordinal in range(3):
        made.trial(ledger, ordinal)
    figures = {"context/Document@1": FigureNoise(0.5, 0, 0, 9, 0.15), "context/Answer@10": FigureNoise(0.5, 0, 0, 9, 0.05)}
    Noise("made", {}, 60, 3, "d" * 64, "sentence", figures).write(tmp_path)
    shown = table(ledger.state(), tmp_path)
    # Document@1 is 90, 80, 70: the noise of 15 points joins the first two; Answer@10 is 16, 26, 36: 5 points join none
    assert [row[4] for row in shown[:3]] == ["~90.0", "~80.0", "70.0"]
    assert [row[5] for row in shown[:3]] == ["16.0", "26.0", "36.0"]


def test_without_noise_nothing_is_tied(tmp_path):
    ledger = made.begin(tmp_path)
    for ordinal in range(2):
        made.trial(ledger, ordinal)
    assert not any("~" in cell for row in table(ledger.state(), tmp_path) for cell in row)


def table(state, folder) -> list[list[str]]:
    """The cells of the sweep's table."""
    from stockpot import table

    rows: list[list[str]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "print_table", lambda title, columns, found, emphasised: rows.extend(found))
        sweep_table(state, noise_of(folder))
    return rows


def test_a_sweep_goes_on_only_with_the_plan_that_was_agreed_to_and_carries_the_noise(measured, tmp_path, monkeypatch, capsys):
    file, folder, _ = measured
    planned = plan(config.load(file)).name
    wrong = planned[:4] + ("0000" if planned[4:8] != "0000" else "1111") + planned[8:]
    begun = []

    class Begins:
        """Instead of the runner: these checks come before it."""

        def __init__(self, loaded, out, say):
            begun.append(out)

        def run(self, resume, allow_changed_code):
            raise StockpotError("begun")

    monkeypatch.setattr("stockpot.whole_sweep.Sweep", Begins)

    def said(*arguments: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["stockpot", "sweep", str(file), *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, " ".join(capsys.readouterr().err.split())

    out = tmp_path / "out"
    code, told = said("--yes", wrong, "--out", out)
    assert code == 2 and f"the plan is {planned} now, not {wrong}: data changed since" in told
    code, told = said("--yes", "yes", "--out", out)
    assert code == 2 and "12 hexadecimal digits" in told
    assert not begun and not out.exists()
    code, told = said("--yes", planned, "--noise", folder / "noise.json", "--out", out)
    assert code == 1 and "begun" in told and begun == [out]
    assert noise_of(out) == noise_of(folder)
