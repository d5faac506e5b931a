"""What a sweep's `resources` ask of Ray."""

from __future__ import annotations

import pytest
from pydantic import ValidationError
from ray.tune import PlacementGroupFactory

from sweeps.config import Resources
from sweeps.ray_cluster import evaluation_options, trial_bundle


@pytest.mark.parametrize(
    ("given", "bundle", "labels"),
    [
        ({}, {"CPU": 1}, {}),
        ({"cpus": 2, "gpus": 0.5}, {"CPU": 2, "GPU": 0.5}, {}),
        ({"gpus": 2, "gpu_type": "A100", "memory": 16}, {"CPU": 1, "GPU": 2, "memory": 16e9}, {"ray.io/accelerator-type": "A100"}),
    ],
)
def test_a_trials_bundle(given, bundle, labels):
    assert trial_bundle(Resources(**given)) == (bundle, labels)


def test_tune_takes_the_labels():
    bundle, labels = trial_bundle(Resources(gpus=1, gpu_type="A100"))
    asked = PlacementGroupFactory([bundle], bundle_label_selector=[labels])
    assert asked._bound.arguments["bundle_label_selector"] == [{"ray.io/accelerator-type": "A100"}]


def test_an_evaluation_takes_what_a_trial_takes_unless_told_otherwise():
    trial = {"cpus": 2, "gpus": 1, "gpu_type": "A100"}
    labelled = {"label_selector": {"ray.io/accelerator-type": "A100"}}
    assert evaluation_options(Resources(**trial)) == {"num_cpus": 2, "num_gpus": 1, **labelled}
    assert evaluation_options(Resources(**{**trial, "gpus": 4}))["num_gpus"] == 1  # it is one process
    assert evaluation_options(Resources(**trial, evaluation_gpus=0, evaluation_cpus=4)) == {"num_cpus": 4, "num_gpus": 0}
    assert evaluation_options(Resources(**trial, evaluation_gpus=0.25)) == {"num_cpus": 2, "num_gpus": 0.25, **labelled}


@pytest.mark.parametrize(("gpus", "processes"), [(0, 1), (0.5, 1), (1, 1), (4, 4)])
def test_a_process_a_gpu(gpus, processes):
    assert Resources(gpus=gpus).processes == processes


@pytest.mark.parametrize(
    ("given", "told"), [({"gpus": 1.5}, "a part of one GPU or whole GPUs, found 1.5"), ({"gpu_type": "A100"}, "gpu_type needs gpus over 0")],
)
def test_what_ray_cannot_give(given, told):
    with pytest.raises(ValidationError, match=told):
        Resources(**given)
