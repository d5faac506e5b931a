"""A trial as Tune steps it, without Ray: reports that replay, with any trainer, and told failures."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from corpora import native
from corpora.mirror import Mirror
from trainables import checkpoints
from trainables.trainers import trainer_of
from trainables.tune_trial import TuneTrial

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_trainer.py"


@pytest.fixture
def config(family_corpus, training_folder, tiny_base, tmp_path, monkeypatch):
    monkeypatch.setattr("trainables.gpu_share.given_gpus", lambda: 0.0)  # Ray knows, and there is none here
    inline = native.write(family_corpus, tmp_path / "inline") or tmp_path / "inline"

    def make(trainer: str | None, name: str = "trial", **fields) -> dict:
        recipe = trainer_of(trainer).Recipe(steps=5, checkpoint_every=2, **fields).model_dump(mode="json")
        return {
            "ordinal": 0, "trainer": trainer, "recipe": recipe, "trust_remote_code": False, "chunking": "sentence",
            "data": str(training_folder), "base": str(tiny_base), "inline": str(inline), "folder": str(tmp_path / name),
            "storage": None, "perturb_every": None,
        }  # fmt: skip

    return make


def steps(trial: TuneTrial) -> list[dict]:
    results = [trial.step()]
    while not results[-1]["done"]:
        results.append(trial.step())
    return results


@pytest.mark.parametrize("trainer", [None, f"{EXAMPLE}:MarginTrainer"])
def test_a_trial_that_starts_again_repeats_its_reports_and_trains_nothing_twice(config, trainer):
    settings = config(trainer)
    first = steps(TuneTrial(settings))
    assert [result["until"] for result in first] == [2, 4, 5]
    written = {result["report"]: Path(result["report"]).read_bytes() for result in first}
    newest = Path(settings["folder"]) / "step-000005"
    assert checkpoints.verify(newest) == [] and checkpoints.manifest(newest).recipe == settings["recipe"]
    reports = [json.loads(content) for content in written.values()]
    assert all({"loss", "inline/Answer@10", "inline/Document@1"} <= set(report["metrics"]) for report in reports)
    assert steps(TuneTrial(settings)) == first
    Path(first[-1]["report"]).unlink()  # its worker died before the last report
    again = TuneTrial(settings)
    assert steps(again) == first
    report = json.loads(Path(first[-1]["report"]).read_text())
    assert report["metrics"] == reports[-1]["metrics"]


def test_a_trial_goes_on_where_no_disk_is_shared(config, tmp_path):
    whole = steps(TuneTrial(config(None)))
    there, here = tmp_path / "there", tmp_path / "here"
    uri = (tmp_path / "kept").as_uri()
    begun = TuneTrial(config(None) | {"folder": str(there / "trials" / "a"), "storage": (str(there), uri)})
    assert [begun.step()["until"], begun.step()["until"]] == [2, 4]  # then its machine is gone
    shutil.rmtree(there)
    goes_on = TuneTrial(config(None) | {"folder": str(here / "trials" / "a"), "storage": (str(here), uri)})
    for before, after in zip(whole, steps(goes_on), strict=True):
        assert json.loads(Path(after["report"]).read_text())["metrics"] == json.loads(Path(before["report"]).read_text())["metrics"]
    assert Mirror(here, uri).storage.folders("trials") == [f"trials/a/step-00000{step}" for step in (2, 4, 5)]


def test_a_reused_worker_keeps_nothing_of_the_trial_before(config):
    alone = steps(TuneTrial(config(None, "alone", seed=3)))
    worker = TuneTrial(config(f"{EXAMPLE}:MarginTrainer", "before"))
    worker.step()
    assert worker.reset_config(config(None, "after", seed=3))
    for one, other in zip(alone, steps(worker), strict=True):
        assert json.loads(Path(one["report"]).read_text())["metrics"] == json.loads(Path(other["report"]).read_text())["metrics"]


def test_a_trial_that_cannot_train_is_told_failed_and_not_raised(config):
    result = TuneTrial(config(None, learning_rate=1e30)).step()
    assert result["done"] and ("not finite" in result["failed"] or "nan" in result["failed"])
