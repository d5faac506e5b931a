"""A whole sweep under population based training: driver and workers are killed, and what was decided holds."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sweeps.config import load
from sweeps.ledger import Ledger
from sweeps.ledger_state import LedgerState, Trial
from sweeps.runner import Sweep
from tests.stockpot.command import stockpot
from tests.sweeps.tiny_sweep import sweep_file
from trainables import exploits
from trainables.tune_trial import TuneTrial

STEPS = (2, 4, 6)


@pytest.fixture(scope="module")
def disturbed(tmp_path_factory) -> tuple[Path, Path]:
    """The YAML and the folder of a finished sweep: its first driver died at the first takeover, then the workers."""
    folder = tmp_path_factory.mktemp("population")
    recipe = {"weight": {"uniform": [0, 1]}, "learning_rate": {"loguniform": [1e-4, 1e-2]}, "documents_per_batch": 4,
              "steps": STEPS[-1], "checkpoint_every": 2, "warmup_steps": 1, "decay_steps": 1}  # fmt: skip
    yaml = sweep_file(
        folder, recipe=recipe, order="asynchronous", search={"sampler": "random", "trials": 3, "seed": 0},
        resources={"slots": 1, "cpus": 1},  # one after another: the last is always held against the two before
        scheduler={"kind": "pbt", "perturb_every": 2, "quantile": 0.5, "metric": "inline/Document@1"},
        evaluation={"suites": ["context"], "inline_queries": 60, "precisions": ["float32"]},
    )  # fmt: skip
    out = folder / "sweep"
    for blow, code in (("driver", -signal.SIGKILL), ("workers", 0)):
        command = [sys.executable, "-m", "tests.stockpot.disturbed_driver", str(yaml), str(out), blow]
        done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=600)
        assert done.returncode == code, done.stdout + done.stderr
        if blow == "driver":
            (exploited,) = [trial for trial in _state(out).trials.values() if trial.exploits]
            assert not (out / "trials" / exploited.trial_id / exploits.FOLDER).exists(), "it knows nothing of it yet"
    return yaml, out


def test_every_trial_came_to_its_end_and_some_took_over(disturbed):
    state = _state(disturbed[1])
    assert {trial.status for trial in state.trials.values()} == {"finished"} and len(state.trials) == 3
    assert [sorted(trial.reports) for trial in state.trials.values()] == [list(STEPS)] * 3
    assert any(trial.exploits for trial in state.trials.values()) and any(trial.retries for trial in state.trials.values())


def test_the_same_config_and_lineage_give_the_same_bytes_and_scores_at_every_step(disturbed, tmp_path, monkeypatch):
    """Each trial once more, undisturbed, from what the ledger says of it."""
    yaml, out = disturbed
    monkeypatch.setattr("trainables.gpu_share.given_gpus", lambda: 0.0)
    config, state = load(yaml), _state(out)
    preparation = Sweep(config, out, lambda what: None).prepare()
    shared = {"trainer": None, "trust_remote_code": False, "storage": None, "perturb_every": 2, "processes": 1,
              "chunking": config.evaluation.chunking, **{name: str(getattr(preparation, name)) for name in ("data", "base", "inline")}}  # fmt: skip
    again = {ordinal: TuneTrial({"ordinal": ordinal, "recipe": trial.params, "folder": str(tmp_path / trial.trial_id), **shared})
             for ordinal, trial in state.trials.items()}  # fmt: skip
    for step in STEPS:
        for ordinal, trial in state.trials.items():
            told = json.loads(Path(again[ordinal].step()["report"]).read_text())
            assert told["metrics"] == dict(trial.reports[step].metrics), (ordinal, step)
            files = json.loads((tmp_path / trial.trial_id / told["checkpoint"] / "manifest.json").read_text())["files"]
            assert files["model.safetensors"] == trial.checkpoints[step].sha256
        for trial in state.trials.values():
            if step in trial.exploits:
                _tell(tmp_path, state, trial, step)


def test_scripts_and_manifests_have_the_values_that_led_to_each_checkpoint(disturbed):
    state = _state(disturbed[1])
    told = {trial["ordinal"]: trial for trial in json.loads(stockpot("status", disturbed[1], "--json").stdout)["trials"]}
    for ordinal, trial in state.trials.items():
        assert [one["step"] for one in told[ordinal]["exploits"]] == sorted(trial.exploits)
        assert told[ordinal]["params"] == trial.params
    manifests = [(trial.params_at(step), disturbed[1] / one.folder / "manifest.json")
                 for trial in state.trials.values() for step, one in trial.checkpoints.items()]  # fmt: skip
    assert all(json.loads(path.read_text())["recipe"] == params for params, path in manifests)


def _tell(root: Path, state: LedgerState, trial: Trial, step: int) -> None:
    one = trial.exploits[step]
    exploits.write(root / trial.trial_id, step, one.params, {"trial_id": state.trials[one.donor["ordinal"]].trial_id, **one.donor})


def _state(out: Path) -> LedgerState:
    return Ledger.open(out).state()
