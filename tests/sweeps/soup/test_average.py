"""The soup's tensors against the plain mean; its bytes against every order of discovery."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
import torch

from corpora.errors import InputError
from sweeps.soup.average import MANIFEST, average, ingredients
from trainables import checkpoints


@pytest.fixture
def folders(make):
    make("base", 0)
    return [make(f"t{seed}", seed) for seed in (1, 2, 3)]


@pytest.mark.parametrize("weights", [None, [2, 2, 2], [0.5, 0.25, 0.25], [3, 1, 2]])
def test_tensors_are_the_float64_mean_rounded_once(folders, tmp_path, weights):
    parts = ingredients(folders, weights)
    soup = average(parts, tmp_path / "out")
    assert checkpoints.verify(soup) == []
    found, tensors = checkpoints.weights(soup), [checkpoints.weights(part.folder) for part in parts]
    assert set(found) == set(tensors[0])
    for name, tensor in found.items():
        stacked = np.stack([part[name].numpy().astype(np.float64) for part in tensors])
        if weights in (None, [2, 2, 2]) or name == "encoder.positions":
            expected = stacked.mean(axis=0)
        else:
            expected = sum(part.weight * values for part, values in zip(parts, stacked, strict=True))
        assert np.array_equal(tensor.numpy(), expected.astype(tensor.numpy().dtype)), name


def test_equal_bytes_whatever_the_order_of_discovery(folders, tmp_path):
    weights = [0.5, 0.3, 0.2]
    made = []
    for place, order in enumerate(itertools.permutations(range(3))):
        parts = ingredients([folders[i] for i in order], [weights[i] for i in order])
        made.append(average(parts, tmp_path / str(place)))
    assert len({folder.name for folder in made}) == 1
    for file in ("model.safetensors", "manifest.json", MANIFEST):
        assert len({(folder / file).read_bytes() for folder in made}) == 1, file


def test_one_ingredient_is_itself(folders, tmp_path):
    soup = average(ingredients(folders[:1]), tmp_path / "out")
    assert (soup / "model.safetensors").read_bytes() == (folders[0] / "model.safetensors").read_bytes()


def test_the_manifest_names_what_went_in_and_a_soup_can_be_averaged_again(folders, tmp_path):
    soup = average(ingredients(folders[:2], [1, 3]), tmp_path / "out", {"splits": {"dev": "d"}})
    told = json.loads((soup / MANIFEST).read_text())
    assert sorted(part["weight"] for part in told["ingredients"]) == [0.25, 0.75]
    assert told["evidence"] == {"splits": {"dev": "d"}}
    assert told["base_weights"] == checkpoints.manifest(folders[0]).base_weights
    again = average(ingredients([soup, folders[2]]), tmp_path / "out")
    assert checkpoints.verify(again) == []
    assert len(json.loads((again / MANIFEST).read_text())["ingredients"]) == 2
    assert average(ingredients(folders[:2], [1, 3]), tmp_path / "out") == soup


def test_integers_must_be_equal_and_layouts_the_same(make, tmp_path):
    make("base", 0)
    one = make("t1", 1)
    for name, tensors, message in [
        ("t2", {"encoder.positions": torch.arange(5) + 1}, "integers that differ"),
        ("t3", {"encoder.bias": torch.zeros(4)}, "admit the ingredients"),
    ]:
        with pytest.raises(InputError, match=message):
            average(ingredients([one, make(name, 2, tensors=tensors)]), tmp_path / "out")


@pytest.mark.parametrize(
    ("count", "weights", "message"), [(0, None, "0 checkpoints"), (2, [1.0], "1 weights"), (2, [1, 0], "over 0")]
)
def test_bad_weights_are_refused(folders, count, weights, message):
    with pytest.raises(InputError, match=message):
        ingredients(folders[:count], weights)
