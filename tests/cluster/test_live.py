"""A real Ray cluster of three nodes under token authentication: refused without, checked with, and a sweep over it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.cluster.descriptions import ROOT
from tests.cluster.live import Live, live_cluster
from tests.faults.world import write_splits
from tests.sweeps.tiny_sweep import LIGHT, sweep_file

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def live():
    """A head that holds the driver, and two workers of which one is labelled as having a T4's kind of node."""
    with live_cluster([["--num-cpus=1"], ["--num-cpus=1", "--labels=ray.io/accelerator-type=T4"]]) as cluster:
        yield cluster


def run(environment: dict[str, str], *arguments: object) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "stockpot", *map(str, arguments)]
    return subprocess.run(command, env={**environment, "COLUMNS": "200"}, cwd=ROOT, capture_output=True, text=True, timeout=800)


def test_without_the_token_nothing_is_submitted_or_read(live: Live, tmp_path):
    sweep = sweep_file(tmp_path)
    for command in (["submit", sweep, "--out", tmp_path / "out"], ["logs", "any"], ["cluster", "jobs"], ["status", "any"]):
        done = run(live.stranger, *command, "--address", live.address)
        assert done.returncode == 2 and "asks for a token: put the cluster's token into RAY_AUTH_TOKEN" in done.stderr, done.stderr
    done = run({**live.environment, "RAY_AUTH_TOKEN": "0" * 64}, "cluster", "jobs", "--address", live.address)
    assert done.returncode == 2 and "refuses the token" in done.stderr
    assert not (tmp_path / "out").exists()


def test_what_cannot_run_is_refused_before_it_is_sent(live: Live, tmp_path):
    sweep = sweep_file(tmp_path, resources={"slots": 1, "cpus": 1, "gpus": 1}, mlflow={"uri": "http://127.0.0.1:1"})
    done = run(live.environment, "submit", sweep, "--address", live.address, "--out", tmp_path / "out")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "1 CPUs, 1 GPUs asked for each trial; no node of the cluster has them" in done.stderr and "1 x (1 CPUs, 0 T4 GPUs, 2 GB)" in done.stderr
    assert done.stderr.count("mlflow.uri: the tracking server http://127.0.0.1:1 does not answer") == 3  # from each node
    assert run(live.environment, "cluster", "jobs", "--address", live.address).stdout.count("tiny") == 0


def test_a_sweep_runs_over_the_nodes_and_is_asked_from_anywhere(live: Live, tmp_path):
    kept, out = tmp_path / "kept", tmp_path / "out"
    search = {"sampler": "random", "trials": 2, "seed": 0}
    sweep = sweep_file(tmp_path, search=search, storage=kept.as_uri(), corpora=write_splits(tmp_path), **LIGHT)
    done = run(live.environment, "submit", sweep, "--address", live.address, "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["out"] == str(out) and "package: " in done.stderr and "succeeded" in done.stderr
    assert live.token not in done.stderr + done.stdout

    assert not list(kept.glob(".probes/*")) and not list(out.glob(".probe-*"))  # every node wrote there, and tidied up

    status = run(live.environment, "status", told["job"], "--json")
    assert status.returncode == 0, status.stderr
    assert len(json.loads(status.stdout)["trials"]) == 2
    listed = run(live.environment, "cluster", "jobs", "--address", live.address).stdout
    assert told["job"] in listed and "SUCCEEDED" in listed
    logs = run(live.environment, "logs")
    assert logs.returncode == 0 and "ships:" in logs.stdout and live.token not in logs.stdout

    done = run(live.environment, "submit", sweep, "--address", live.address, "--out", out)
    assert done.returncode == 0, done.stderr  # sent twice, it goes on: nothing is left to do
    for folder in (out, kept):
        events = [path.read_text() for path in (folder / "ledger" / "events").rglob("*.json")]
        assert events and not any(live.token in event for event in events)
