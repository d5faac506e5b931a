"""Several training corpora in one trial: each batch comes from one of them, drawn by weight (DESIGN section 5).

A mixture of one corpus is that corpus: nothing is drawn, and its folder is the corpus's own.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corpora.files import build_folder
from trainables.batches import Batch, Batches
from trainables.data import TrainingData
from trainables.recipe import Recipe

_FILE = "mixture.json"
_DATASET = 3
"""A stream of random numbers of its own beside those of trainables/batches.py: (seed, stream)."""


@dataclass(frozen=True)
class Mixture:
    """`weights`: shares of the batches, one a part, that need not sum to 1."""

    parts: tuple[TrainingData, ...]
    weights: tuple[float, ...]

    @classmethod
    def open(cls, folder: Path) -> Mixture:
        """A folder of `Mixture.build` or of `TrainingData.build`."""
        folder = Path(folder)
        if not (folder / _FILE).is_file():
            return cls((TrainingData.open(folder),), (1.0,))
        listed = json.loads((folder / _FILE).read_text())
        return cls(tuple(TrainingData.open(folder / one["data"]) for one in listed), tuple(one["weight"] for one in listed))

    @classmethod
    def build(cls, parts: Sequence[Path], weights: Sequence[float], store: Path) -> Path:
        """The folder store/mixtures/<hash> of these folders of training data, or the only one itself."""
        if len(parts) == 1:
            return Path(parts[0])
        key = json.dumps([[Path(part).name, weight] for part, weight in zip(parts, weights, strict=True)])
        folder = Path(store) / "mixtures" / hashlib.sha256(key.encode()).hexdigest()[:12]
        # Relative, so that a store can be moved whole.
        listed = [
            {"data": os.path.relpath(Path(part).resolve(), folder.resolve()), "weight": weight}
            for part, weight in zip(parts, weights, strict=True)
        ]
        return build_folder(folder, lambda beside: (beside / _FILE).write_text(json.dumps(listed, indent=1)))


class MixedBatches:
    """The batches of a mixture, a pure function of (recipe's seed, step) like those of one corpus."""

    def __init__(self, mixture: Mixture, recipe: Recipe):
        self._seed = recipe.seed
        self._shares = np.cumsum(mixture.weights) / np.sum(mixture.weights)
        self._of = [Batches(part, recipe, _seed_of(recipe.seed, place)) for place, part in enumerate(mixture.parts)]

    def batch(self, step: int) -> Batch:
        """The batch of the update from `step` to `step + 1`; `dataset` says which part it comes from."""
        if len(self._of) == 1:
            return self._of[0].batch(step)
        drawn = self._drawn(step + 1)
        place = int(drawn[-1])
        return replace(self._of[place].batch(int((drawn[:-1] == place).sum())), dataset=place)

    def _drawn(self, steps: int) -> NDArray:
        """int64 [steps]: the part of each step. A longer stream begins with the shorter one."""
        return np.searchsorted(self._shares, np.random.default_rng((self._seed, _DATASET)).random(steps), side="right")


def _seed_of(seed: int, place: int) -> int:
    """The first part keeps the recipe's seed; the others' draws are independent of it."""
    return int(np.random.SeedSequence((seed, _DATASET, place)).generate_state(1)[0]) if place else seed
