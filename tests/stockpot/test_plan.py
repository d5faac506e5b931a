"""`stockpot plan` through the command line: what it says, and the probe that makes it right."""

from __future__ import annotations

import json
import re

from tests.stockpot.command import stockpot
from tests.sweeps.tiny_sweep import sweep_file


def test_a_probe_times_a_trial_and_both_estimates_are_told(tmp_path):
    file = sweep_file(tmp_path, evaluation={"suites": ["context", "q2c"], "inline_queries": 10, "precisions": ["float32"]})
    before = sorted(path.name for path in tmp_path.iterdir())
    told = json.loads(stockpot("plan", file, "--probe", "--json", cwd=tmp_path, timeout=300).stdout)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    probe, rough, found = told["probe"], told["rough_estimate"], told["estimate"]
    assert all(value > 0 for name, value in probe.items() if name != "state_gb")
    training = rough["training_hours"] * probe["step_seconds"] / probe["estimated_step_seconds"]
    assert abs(found["training_hours"] - training - found["checkpoints"] * probe["checkpoint_seconds"] / 3600) < 1e-9
    assert found["trials"] == rough["trials"] == 3 and found["disk_gb"] > 0


def test_it_says_what_will_be_done_and_asked_for(tmp_path):
    lines = stockpot("plan", sweep_file(tmp_path)).stdout.splitlines()
    assert re.fullmatch("plan: [0-9a-f]{12}", lines[0])
    text = "\n".join(lines)
    for expected in (
        "space: unbounded, by random", "weight: 0 to 1", "trials: 3, 2 at a time", "GPU-hours", "disk ", "this machine: ",
        "MLflow: 4 runs, 7 logged models, about", "requests",
    ):  # fmt: skip
        assert expected in text, expected
