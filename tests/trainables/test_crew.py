"""A trial in several processes: it learns what one process learns, goes on from its checkpoints, and leaves nobody behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from corpora import native
from trainables import checkpoints, crew
from trainables.recipe import Recipe
from trainables.tune_trial import TuneTrial


@pytest.fixture
def config(family_corpus, training_folder, tiny_base, tmp_path, monkeypatch):
    monkeypatch.setattr("trainables.gpu_share.given_gpus", lambda: 0.0)
    native.write(family_corpus, tmp_path / "inline")

    def make(name: str, processes: int, **fields) -> dict:
        recipe = Recipe(**{"steps": 4, "checkpoint_every": 2, "documents_per_batch": 5, **fields}).model_dump(mode="json")
        return {
            "ordinal": 0, "trainer": None, "recipe": recipe, "trust_remote_code": False, "chunking": "sentence",
            "data": str(training_folder), "base": str(tiny_base), "inline": str(tmp_path / "inline"), "folder": str(tmp_path / name),
            "storage": None, "perturb_every": None, "processes": processes,
        }  # fmt: skip

    return make


def metrics(results: list[dict]) -> list[dict]:
    return [json.loads(Path(result["report"]).read_text())["metrics"] for result in results]


def weights(settings: dict) -> dict[str, bytes]:
    return {path.name: checkpoints.manifest(path).files[checkpoints.WEIGHTS] for path in Path(settings["folder"]).glob("step-*")}


def test_two_processes_learn_what_one_does_and_go_on_where_they_were(config):
    alone = TuneTrial(config("alone", 1))
    expected = metrics([alone.step(), alone.step()])
    whole = config("whole", 2)
    together = TuneTrial(whole)
    found = metrics([together.step(), together.step()])
    together.stop()
    for before, after in zip(expected, found, strict=True):
        assert after["loss"] == pytest.approx(before["loss"], rel=1e-4)
    halved = config("halved", 2)
    first = TuneTrial(halved)
    first.step()
    first.stop()
    again = TuneTrial(halved)
    assert metrics([again.step(), again.step()]) == found
    again.stop()
    assert weights(halved) == weights(whole)


def test_a_reused_worker_gets_a_crew_of_its_own(config):
    trial = TuneTrial(config("one", 2))
    trial.step()
    [helper] = trial._crew._helpers
    trial.reset_config(config("two", 1))
    assert not helper.is_alive() and "report" in trial.step()


def test_what_meets_every_process_is_told_once_and_ends_the_helpers(config):
    refused = TuneTrial(config("refused", 3, documents_per_batch=2))
    assert "each needs at least one document" in refused.step()["failed"]
    assert refused._crew is None
    diverged = TuneTrial(config("diverged", 2, learning_rate=1e30, warmup_steps=0))
    result = diverged.step()
    result = result if "failed" in result else diverged.step()
    assert "nan" in result["failed"].lower()
    [helper] = diverged._crew._helpers
    diverged.stop()
    assert not helper.is_alive()


def test_without_its_helper_a_trial_ends(config, monkeypatch):
    trial = TuneTrial(config("left", 2))
    trial.step()
    ended = threading.Event()
    monkeypatch.setattr(crew.os, "_exit", lambda code: ended.set())
    [helper] = trial._crew._helpers
    os.kill(helper.pid, signal.SIGKILL)
    assert ended.wait(60)
    trial.stop()


ALONE = """
import json, sys, time
from trainables.crew import Crew
if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    crew = Crew(2, job, job["recipe"], 0, None)
    print(crew._helpers[0].pid, flush=True)
    time.sleep(600)
"""


def test_helpers_end_with_a_trial_that_is_killed(config, tmp_path):
    script = tmp_path / "alone.py"
    script.write_text(ALONE)
    environment = {**os.environ, "PYTHONPATH": str(Path(crew.__file__).parents[1])}
    trial = subprocess.Popen([sys.executable, script, json.dumps(config("killed", 2))], stdout=subprocess.PIPE, text=True, env=environment)
    helper = Path(f"/proc/{int(trial.stdout.readline())}")
    assert helper.exists()
    trial.kill()
    trial.wait()
    end = time.monotonic() + 60
    while helper.exists() and "State:\tZ" not in (helper / "status").read_text():
        assert time.monotonic() < end
        time.sleep(0.1)
