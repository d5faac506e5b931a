"""A worker that has run other trials is as good as a new one: the same weights, byte for byte, and no memory kept."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from pathlib import Path

import torch

from corpora.files import sha256_of
from tests.trainables.test_tune_trial import config, steps  # noqa: F401  (config: a fixture)
from trainables.tune_trial import TuneTrial

ALONE = """
import json, sys
import trainables.gpu_share
trainables.gpu_share.given_gpus = lambda: 0.0  # Ray knows, and there is none here
from trainables.tune_trial import TuneTrial
trial = TuneTrial(json.loads(sys.argv[1]))
while not trial.step()["done"]:
    pass
"""
OTHERS = [
    {"seed": 1, "quantiser": "int8-tanh", "chunking_mix": {"tokens:64": 0.5, "sentence": 0.5}},
    {"seed": 2, "objective": "gold", "threads": 2},
    {"seed": 3, "weight": 0.9, "documents_per_batch": 4, "learning_rate": 1e-2},
    {"seed": 4, "quantiser": "int8-absmax"},
]
"""Trials that would leave traces, if any could: of threads, random states, heads, batches, optimisers."""


def weights(settings: dict) -> dict[str, str]:
    return {path.parent.name: sha256_of(path) for path in sorted(Path(settings["folder"]).glob("step-*/model.safetensors"))}


def test_trial_k_of_a_reused_worker_equals_trial_k_alone_bit_for_bit(config):  # noqa: F811
    fields = {"seed": 7, "quantiser": "int8-absmax", "weight": 0.3}
    alone, reused = config(None, "alone", **fields), config(None, "reused", **fields)
    subprocess.run([sys.executable, "-c", ALONE, json.dumps(alone)], check=True)
    worker = TuneTrial(config(None, "0", **OTHERS[0]))
    steps(worker)
    for place, other in enumerate(OTHERS[1:], 1):
        assert worker.reset_config(config(None, str(place), **other))
        if place == 2:
            worker.step()  # stopped by the scheduler after its first checkpoint
        else:
            steps(worker)
    assert worker.reset_config(reused)
    steps(worker)
    assert weights(reused) == weights(alone) and len(weights(alone)) == 3


def test_a_reused_worker_keeps_no_memory_of_its_trials(config):  # noqa: F811
    worker, held = TuneTrial(config(None, "first", **OTHERS[0])), []
    for place in range(6):
        steps(worker)
        worker.reset_config(config(None, f"after-{place}", **OTHERS[place % 2]))
        gc.collect()
        held.append(sum(found.numel() * found.element_size() for found in gc.get_objects() if issubclass(type(found), torch.Tensor)))
    assert held[2:4] == held[4:], held
