"""A trial as Tune steps it, without Ray: reports that replay, with any trainer, and told failures."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from corpora import native
from corpora.mirror import Mirror
from trainables import checkpoints, exploits
from trainables.loop import Loop
from trainables.recipe import Recipe
from trainables.trainers import trainer_of
from trainables.training import BuiltIn
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
            "storage": None, "perturb_every": None, "processes": 1,
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


def exploit(settings: dict, step: int, donor: dict, **recipe) -> None:
    """Tells the trial of `settings` to go on at `step` from the checkpoint of `donor`, under its own recipe changed."""
    folder = Path(donor["folder"])
    sha256 = checkpoints.manifest(folder / f"step-{step:06d}").files["model.safetensors"]
    exploits.write(settings["folder"], step, settings["recipe"] | recipe,
                   {"trial_id": folder.name, "ordinal": 1, "step": step, "sha256": sha256})  # fmt: skip


def weights(settings: dict) -> list[str]:
    return [checkpoints.manifest(path).files["model.safetensors"] for path in sorted(Path(settings["folder"]).glob("step-*"))]


def test_under_the_donors_recipe_a_trial_goes_on_as_the_donor_did(config):
    donor, own = (config(None, name, weight=weight) | {"perturb_every": 2} for name, weight in (("donor", 0.2), ("own", 0.9)))
    steps(TuneTrial(donor))
    trial = TuneTrial(own)
    trial.step()
    exploit(own, 2, donor, weight=0.2)
    assert [trial.step()["until"], trial.step()["until"]] == [4, 5]
    assert weights(own)[0] != weights(donor)[0] and weights(own)[1:] == weights(donor)[1:]
    assert [checkpoints.manifest(Path(own["folder"]) / f"step-00000{step}").recipe["weight"] for step in (2, 4)] == [0.9, 0.2]
    held = [(Path(donor["folder"]) / f"step-00000{step}" / "state").exists() for step in (2, 4, 5)]
    assert held == [True, True, True], "the states that others may go on from stay"


def test_new_values_hold_from_the_step_where_they_were_given_also_after_a_kill(config):
    donor, own = (config(None, name, weight=weight) | {"perturb_every": 2} for name, weight in (("donor", 0.2), ("own", 0.9)))
    steps(TuneTrial(donor))
    changed = {"weight": 0.6, "learning_rate": 1e-3, "weight_decay": 0.3, "chunking_mix": {"tokens:4": 1.0}}
    trial = TuneTrial(own)
    trial.step()
    exploit(own, 2, donor, **changed)
    first = [trial.step(), trial.step()]
    reference = Loop(BuiltIn, Recipe(**own["recipe"] | changed), Path(own["data"]), Path(own["base"]), Path(own["folder"]).parent / "reference")
    reference.trainer.load(Path(donor["folder"]) / "step-000002")
    reference.step = 2
    assert reference.trainer.optimiser.param_groups[0]["weight_decay"] == 0.3
    reference.train(4)
    reference.checkpoint()
    assert weights({"folder": reference.folder})[0] == weights(own)[1]

    before, reports = weights(own), [Path(result["report"]).read_text() for result in first]
    for step in (4, 5):  # its worker died before it could report what lies on disk, or had written it
        (Path(own["folder"]) / "reports" / f"step-00000{step}.json").unlink()
        shutil.rmtree(Path(own["folder"]) / f"step-00000{step}")
    again = TuneTrial(own)
    assert [again.step()["until"] for _ in range(3)] == [2, 4, 5] and weights(own) == before
    for written, result in zip(reports, first, strict=True):
        assert json.loads(Path(result["report"]).read_text())["metrics"] == json.loads(written)["metrics"]

    (Path(own["folder"]) / "step-000004" / "model.safetensors").write_bytes(b"cut short")
    Path(first[-1]["report"]).unlink()
    shutil.rmtree(Path(own["folder"]) / "step-000005")
    steps(TuneTrial(own))  # from the donor's once more, for its own is damaged
    assert weights(own) == before and (Path(own["folder"]) / "step-000004.damaged").exists()


def test_a_donor_that_is_gone_or_another_is_told_and_not_trained_from(config):
    donor, own = (config(None, name, seed=seed) | {"perturb_every": 2} for seed, name in enumerate(("donor", "own")))
    TuneTrial(donor).step()
    trial = TuneTrial(own)
    trial.step()
    checkpoint = Path(donor["folder"]) / "step-000002"
    sha256 = "0" * 64
    exploits.write(own["folder"], 2, own["recipe"], {"trial_id": "donor", "ordinal": 1, "step": 2, "sha256": sha256})
    assert "holds other weights than were chosen" in trial.step()["failed"]
    exploit(own, 2, donor)
    shutil.rmtree(checkpoint / "state")
    again = TuneTrial(own)
    again.step()
    assert f"{checkpoint}: has lost its state/" in again.step()["failed"]


def test_a_donor_comes_from_storage_where_no_disk_is_shared(config, tmp_path):
    uri, there, here = (tmp_path / "kept").as_uri(), tmp_path / "there", tmp_path / "here"
    shared = {"perturb_every": 2, "storage": (str(there), uri)}
    donor = config(None, weight=0.2) | shared | {"folder": str(there / "trials" / "donor")}
    steps(TuneTrial(donor))
    own = config(None, weight=0.9) | shared | {"folder": str(here / "trials" / "own"), "storage": (str(here), uri)}
    trial = TuneTrial(own)
    trial.step()
    driver = own | {"folder": str(there / "trials" / "own")}  # writes on its own machine
    exploit(driver, 2, donor, weight=0.2)
    Mirror(there, uri).keep([Path(driver["folder"]) / "exploits" / "step-000002.json"])
    assert "failed" not in trial.step() and weights(own)[1] == weights(donor)[1]


def test_a_trial_that_cannot_train_is_told_failed_and_not_raised(config):
    result = TuneTrial(config(None, learning_rate=1e30)).step()
    assert result["done"] and ("not finite" in result["failed"] or "nan" in result["failed"])
