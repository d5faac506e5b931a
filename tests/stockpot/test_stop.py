"""`stockpot stop`, a larger budget and `status` around real drivers of a small sweep."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import yaml

from sweeps.comparison import comparable
from sweeps.ledger import Ledger
from tests.stockpot.command import stockpot


def test_stop_waits_for_checkpoints_and_a_larger_budget_goes_on_as_if_it_had_been_so_from_the_start(finished, tiny_yaml, tmp_path):
    """Two of the three trials, stopped after the first checkpoint, resumed, then extended to the three of `finished`."""
    content, out = yaml.safe_load(tiny_yaml.read_text()), tmp_path / "out"
    smaller = tmp_path / "sweep.yaml"
    smaller.write_text(yaml.safe_dump({**content, "search": {**content["search"], "trials": 2}}))
    command = [sys.executable, "-c", "from stockpot.cli import main; main()", "sweep", str(smaller), "--out", str(out)]
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    _wait_for(lambda: reported(out) or driver.poll() is not None, 300)
    stopped = stockpot("stop", out, "--wait", timeout=300)
    said = driver.communicate(timeout=300)[1]
    assert driver.returncode == 1 and "asked to stop" in said and "Traceback" not in said, said
    assert "interrupted (asked to stop)" in stopped.stdout
    state = Ledger.open(out).state()
    assert (state.status, state.reason) == ("interrupted", "asked to stop")
    written = {(path.parts[-3], int(path.stem.removeprefix("step-"))) for path in out.glob("trials/*/reports/*.json")}
    recorded = {(trial.trial_id, step) for trial in state.trials.values() for step in trial.reports}
    assert written == recorded != set(), "what a trial did before it stopped is in the ledger"
    assert all(set(trial.reports) == set(trial.checkpoints) for trial in state.trials.values())
    assert not (out / "ledger" / "stop.json").exists()
    assert "interrupted (asked to stop)" in stockpot("status", out).stdout

    stockpot("sweep", smaller, "--out", out, "--resume", timeout=900)
    assert Ledger.open(out).state().status == "finished" and len(Ledger.open(out).state().trials) == 2
    changed = tmp_path / "changed.yaml"
    changed.write_text(yaml.safe_dump({**content, "recipe": {**content["recipe"], "top_n": 2}, "search": {**content["search"], "trials": 1}}))
    refused = stockpot("sweep", changed, "--out", out, "--resume", check=False, timeout=300)
    assert refused.returncode == 2 and "recipe.top_n" in refused.stderr and "search.trials: is 1 now" in refused.stderr

    stockpot("sweep", tiny_yaml, "--out", out, "--resume", timeout=900)
    extended, whole = (comparable(Ledger.open(folder).state()) for folder in (out, Path(finished["sweep"])))
    del extended["soup"], whole["soup"]  # the smaller sweep had a soup of its own, which stays written down
    assert extended == whole
    assert "trials 3/3" in stockpot("status", out).stdout


def test_stop_says_when_nobody_works(finished):
    refused = stockpot("stop", finished["sweep"], check=False)
    assert refused.returncode == 1 and "no driver is running" in refused.stderr
    assert not (Path(finished["sweep"]) / "ledger" / "stop.json").exists()
    assert "finished" in stockpot("status", finished["sweep"], "--watch").stdout


def reported(out: Path) -> bool:
    """Whether a trial has come to its first checkpoint."""
    if not list((out / "ledger" / "events").glob("*.json")):
        return False
    return any(trial.reports for trial in Ledger.open(out).state().trials.values())


def _wait_for(condition, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.2)


def test_the_object_for_scripts_stays(finished):
    assert json.loads(stockpot("status", finished["sweep"], "--json").stdout)["status"] == "finished"
