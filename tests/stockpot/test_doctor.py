"""`stockpot doctor` on this machine, and on ones with something broken."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path

import yaml

from sweeps import doctor
from tests.stockpot.command import stockpot


def test_a_machine_that_runs_these_tests_is_well(tmp_path):
    done = stockpot("doctor", "--json", "--out", tmp_path, timeout=300)
    told = json.loads(done.stdout)
    assert told["ok"]
    assert [finding["what"] for finding in told["findings"]] == [
        "Python", "packages", "tested versions", "torch", "memory", "disk", "weights", "MLflow", "webhook", "Ray"]  # fmt: skip
    assert not [finding for finding in told["findings"] if finding["state"] == "problem"]


def test_what_is_broken_is_said_with_its_cure(tmp_path, tiny_yaml):
    content = yaml.safe_load(tiny_yaml.read_text())
    broken = tmp_path / "sweep.yaml"
    broken.write_text(yaml.safe_dump({
        **content, "mlflow": {"uri": "http://127.0.0.1:9"}, "notify": {"webhook": "env:NO_SUCH_HOOK"},
        "student": {**content["student"], "encoder": str(tmp_path / "nowhere")},
    }))  # fmt: skip
    done = stockpot("doctor", broken, check=False, timeout=300, env={"RAY_ADDRESS": "127.0.0.1:9"})
    assert done.returncode == 1 and "Traceback" not in done.stderr
    lines = done.stdout.splitlines()
    problems = [line.split()[1].rstrip(":") for line in lines if line.startswith("problem")]
    assert problems == ["weights", "MLflow", "webhook", "Ray"]
    assert "NO_SUCH_HOOK" in done.stdout and "nowhere" in done.stdout and "correct mlflow.uri" in done.stdout


def test_a_password_in_a_uri_is_refused_and_not_repeated(tmp_path, tiny_yaml):
    broken = tmp_path / "sweep.yaml"
    content = yaml.safe_load(tiny_yaml.read_text())
    broken.write_text(yaml.safe_dump({**content, "mlflow": {"uri": "http://someone:S3CRET@127.0.0.1:9"}}))
    done = stockpot("doctor", broken, check=False, timeout=300)
    assert done.returncode == 2 and "mlflow.uri" in done.stderr and "S3CRET" not in done.stdout + done.stderr


def test_a_package_out_of_range_is_named(monkeypatch):
    real = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "4.9" if name == "optuna" else real(name))
    found = doctor._packages()
    assert found.state == "problem" and "optuna" in found.found and "is 4.9" in found.found
    told = doctor._tested()
    assert told.state == "told" and "optuna 4.9 (tested 5" in told.found


def test_too_little_memory_or_disk_is_a_problem(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "LEAST_MEMORY", 1e9)
    monkeypatch.setattr(doctor, "LEAST_DISK", 1e9)
    assert doctor._memory().state == "problem"
    assert doctor._disk(tmp_path / "not" / "there").state == "problem"
    assert doctor._disk(Path("/")).what == "disk"
