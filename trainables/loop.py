"""One trial in its folder: a trainer, started from base+ or from the newest checkpoint, and its checkpoints."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from corpora.errors import NonFinite
from trainables import checkpoints, processes
from trainables.exploits import Exploit
from trainables.recipe import LoopRecipe
from trainables.student import StudentEncoder
from trainables.trainers import Trainer

log = logging.getLogger(__name__)


class Loop:
    """Trains in `folder`: from the newest checkpoint there of at most `up_to` steps, else from `base`.

    step: optimiser steps done; trainer: of the class `kind`; `exploit`: what the trial took over last from another
    one, from where on its own checkpoints count.
    """

    def __init__(
        self, kind: type[Trainer], recipe: LoopRecipe, data: Path, base: Path, folder: Path, up_to: int | None = None,
        exploit: Exploit | None = None,
    ):  # fmt: skip
        self.recipe, self.folder, self.step = recipe, Path(folder), 0
        newest = newest_checkpoint(self.folder, recipe.steps if up_to is None else up_to, over=exploit.step if exploit else 0)
        if newest is None and exploit:
            newest = exploit.start()
        self.trainer = kind(Path(base), Path(data), recipe, "cuda" if torch.cuda.is_available() else "cpu")
        if newest:
            self.trainer.load(newest)
            self.step = checkpoints.manifest(newest).step

    def train(self, until_step: int) -> dict[str, float]:
        """Goes on to `until_step`; what the trainer measured on the way."""
        if until_step <= self.step:
            return {}
        with _deterministic(self.recipe.threads):
            measures = dict(self.trainer.train(until_step - self.step))
        for name, value in measures.items():
            if not math.isfinite(value):
                raise NonFinite(f"steps {self.step} to {until_step}: {name} is {value}")
        self.step = until_step
        return measures

    def checkpoint(self) -> Path:
        """`folder`/step-000060, with the state that resumes it; one that is there is kept."""
        path = self.folder / f"step-{self.step:06d}"
        if processes.rank() == 0:
            self.trainer.save(path)
        processes.wait()
        return path

    def encoder(self) -> StudentEncoder:
        """The student as it is now, under the recipe's quantiser, for the evaluators."""
        return StudentEncoder(self.trainer.student, f"step {self.step}", quantiser=self.recipe.quantiser)


def newest_checkpoint(folder: Path, up_to: int, over: int = 0) -> Path | None:
    """The last whole checkpoint of over `over` and at most `up_to` steps with its state; a damaged one is put aside,
    never deleted."""
    for path in sorted(Path(folder).glob("step-" + "[0-9]" * 6), reverse=True):
        if not over < int(path.name.removeprefix("step-")) <= up_to:
            continue
        problems = checkpoints.verify(path)
        if not problems and (path / checkpoints.STATE).exists():
            return path
        if problems and processes.rank() == 0:
            log.warning("%s is put aside: %s", path, "; ".join(map(str, problems)))
            path.rename(path.with_name(f"{path.name}.damaged"))
    return None


@contextmanager
def _deterministic(threads: int) -> Iterator[None]:
    """Sums depend on the number of threads and on the kernels' order: both are fixed, then put back."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # a debugging aid that costs 3% of a step
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.use_deterministic_algorithms(before[1])
