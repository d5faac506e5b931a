"""`storage:` in a sweep's YAML, from the outside: the driver's disk is lost, and the sweep goes on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import yaml

from sweeps.comparison import comparable
from sweeps.ledger import Ledger
from tests.stockpot.command import stockpot
from tests.faults.world import write_splits
from tests.sweeps.tiny_sweep import LIGHT, sweep_file


def test_a_sweep_whose_disk_is_lost_goes_on_from_storage(tmp_path: Path) -> None:
    kept = (tmp_path / "kept").as_uri()
    file = sweep_file(tmp_path, storage=kept, corpora=write_splits(tmp_path), search={"sampler": "random", "trials": 2}, **LIGHT)
    out = tmp_path / "run"
    first = json.loads(stockpot("sweep", file, "--out", out, "--json", timeout=900).stdout)
    before = Ledger.open(out).state()
    reports = {ordinal: trial.reports for ordinal, trial in before.trials.items()}
    shutil.rmtree(out)

    refused = stockpot("sweep", file, "--out", out, check=False, timeout=300)
    assert refused.returncode == 2 and "holds a sweep already: go on with it by --resume" in " ".join(refused.stderr.split())

    again = json.loads(stockpot("sweep", file, "--out", out, "--resume", "--json", timeout=900).stdout)
    after = Ledger.open(out).state()
    assert comparable(after) == comparable(before)
    assert {ordinal: trial.reports for ordinal, trial in after.trials.items()} == reports, "nothing was trained again"
    assert [trial["trial_id"] for trial in again["trials"]] == [trial["trial_id"] for trial in first["trials"]]
    assert Path(again["soup"]["folder"], "model.safetensors").is_file()
    assert all(trial["run_id"] for trial in again["trials"])


def test_a_uri_with_keys_is_refused_and_not_shown(tmp_path: Path) -> None:
    file = sweep_file(tmp_path)
    content = yaml.safe_load(file.read_text()) | {"storage": "s3://me:s3cr3t@bucket/sweeps"}
    file.write_text(yaml.safe_dump(content))
    refused = stockpot("plan", file, check=False, timeout=300)
    assert refused.returncode == 2 and "storage: a storage's URI holds no keys" in " ".join(refused.stderr.split())
    assert "s3cr3t" not in refused.stderr + refused.stdout
