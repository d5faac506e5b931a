"""One trial's training loop: the same recipe, data and base+ give the same bytes, also when resumed.

The student has no dropout and batches are functions of (seed, step): the weights, the
optimiser's moments and the step are all the state there is.

On a CPU, glibc gives the large blocks of every step back to the system and faults them in
anew; a process started with MALLOC_MMAP_THRESHOLD_=4000000000 and
MALLOC_TRIM_THRESHOLD_=8000000000 in its environment keeps them.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from corpora.errors import InputError, NonFinite, Problem
from trainables import checkpoints, processes
from trainables.batches import Batch, Batches
from trainables.data import TrainingData
from trainables.layouts import DocumentInput
from trainables.objective import outcome
from trainables.recipe import Recipe
from trainables.schedules import learning_rate
from trainables.student import Student, StudentEncoder

log = logging.getLogger(__name__)


class Trainer:
    """Trains in `folder`: from the newest checkpoint there of at most `up_to` steps, else from `base`.

    step: optimiser steps done; student: the model as it is now.
    """

    def __init__(self, recipe: Recipe, data: TrainingData, base: Path, folder: Path, up_to: int | None = None):
        self.recipe, self.data, self.folder = recipe, data, Path(folder)
        if recipe.documents_per_batch < processes.count():
            raise InputError(Problem("recipe.documents_per_batch", f"is {recipe.documents_per_batch} for "
                                     f"{processes.count()} processes: each needs at least one document"))
        self.batches = Batches(data, recipe, recipe.seed)
        newest = newest_checkpoint(self.folder, recipe.steps if up_to is None else up_to)
        self.student = Student.load(
            newest or base, attention=recipe.attention, precision=recipe.precision,
            gradient_checkpointing=recipe.gradient_checkpointing, device="cuda" if torch.cuda.is_available() else "cpu",
        ).train()
        self.optimiser = _optimiser(self.student, recipe)
        self.step = 0
        if newest:
            self.step = self.student.about.step
            checkpoints.read_state(newest).restore(self.optimiser)

    @classmethod
    def open(cls, recipe: Recipe, data: Path, base: Path, folder: Path, up_to: int | None = None) -> Trainer:
        """`data`: a folder of `TrainingData.build`."""
        return cls(recipe, TrainingData.open(data), base, folder, up_to)

    def train(self, until_step: int) -> dict[str, float]:
        """Goes on to `until_step`; the means over the steps of what each measured (`Outcome.measures`,
        `gradient_norm`, `learning_rate`, `tokens` a step)."""
        measured = []
        with _deterministic(self.recipe.threads):
            while self.step < until_step:
                measured.append(self._update())
                self.step += 1
        if not measured:
            return {}
        return {name: float(np.mean([step[name] for step in measured])) for name in measured[0]}

    def checkpoint(self) -> Path:
        """`folder`/step-000060, with the state that resumes it; one that is there is kept."""
        path = self.folder / f"step-{self.step:06d}"
        if processes.rank() == 0:
            self.student.save(path, step=self.step, seed=self.recipe.seed, recipe=self.recipe.model_dump(mode="json"),
                              quantiser=self.recipe.quantiser, state=checkpoints.State.of(self.optimiser))
        processes.wait()
        return path

    def encoder(self) -> StudentEncoder:
        """The student as it is now, under the recipe's quantiser, for the evaluators."""
        return StudentEncoder(self.student, f"step {self.step}", quantiser=self.recipe.quantiser)

    def _update(self) -> dict[str, float]:
        self.student.train()
        batch = self.batches.batch(self.step)
        rate = learning_rate(self.recipe, self.step)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.zero_grad(set_to_none=True)
        measures = self._backward(batch)
        trained = [parameter for parameter in self.student.parameters() if parameter.requires_grad]
        processes.add_gradients(trained)
        norm = torch.nn.utils.clip_grad_norm_(trained, self.recipe.gradient_clip).item()
        if not np.isfinite(norm):
            raise NonFinite(f"step {self.step}: the gradient's norm is {norm}")
        self.optimiser.step()
        return measures | {"gradient_norm": norm, "learning_rate": rate, "tokens": float(self._tokens(batch))}

    def _backward(self, batch: Batch) -> dict[str, float]:
        """Leaves the gradient of the whole batch's loss, by way of this process's share, in the parameters.

        All documents in one pass keep their graph; in several, the vectors are worked out without one
        first, and every pass is repeated for its gradient, so that memory holds one pass at a time.
        """
        own_documents = processes.shares(len(batch.documents))[processes.rank()]
        own_pairs = processes.shares(len(batch.pairs))[processes.rank()]
        width = self.recipe.documents_per_pass or len(batch.documents)
        passes = [own_documents[start : start + width] for start in range(0, max(len(own_documents), 1), width)]
        repeated = len(passes) > 1
        with torch.set_grad_enabled(not repeated):
            outputs = [self._documents(batch, places) for places in passes]
        queries = self._queries(batch, own_pairs)
        counts = np.bincount(batch.owner, minlength=len(batch.documents))
        result = outcome(
            self.recipe, batch,
            queries=processes.gather(queries, [len(share) for share in processes.shares(len(batch.pairs))]),
            chunks=processes.gather(torch.cat(outputs), [int(counts[share].sum()) for share in processes.shares(len(counts))]),
        )
        queries.backward(result.queries[own_pairs])
        chunk = int(sum(counts[share].sum() for share in processes.shares(len(counts))[: processes.rank()]))
        for places, output in zip(passes, outputs, strict=True):
            gradient = result.chunks[chunk : chunk + len(output)]
            chunk += len(output)
            (self._documents(batch, places) if repeated else output).backward(gradient)
        return result.measures

    def _documents(self, batch: Batch, places: np.ndarray) -> Tensor:
        """z of the chunks of these documents of the batch."""
        table = self.data.prepared.table(batch.chunking)
        documents = batch.documents[places].tolist()
        return self.student.forward_documents(
            [DocumentInput(self.data.prepared.encodings(place)[0], table.tokens[table.of(place)]) for place in documents])

    def _queries(self, batch: Batch, places: np.ndarray) -> Tensor:
        queries = self.data.pair_query[batch.pairs[places]].tolist()
        return self.student.forward_queries([self.data.query_tokens[query] for query in queries])

    def _tokens(self, batch: Batch) -> int:
        documents = sum(len(self.data.prepared.encodings(place)[0]) for place in batch.documents.tolist())
        return documents + sum(len(self.data.query_tokens[query]) for query in self.data.pair_query[batch.pairs].tolist())


def newest_checkpoint(folder: Path, up_to: int) -> Path | None:
    """The last whole checkpoint of at most `up_to` steps with its state; a damaged one is put aside, never deleted."""
    for path in sorted(Path(folder).glob("step-" + "[0-9]" * 6), reverse=True):
        if int(path.name.removeprefix("step-")) > up_to:
            continue
        problems = checkpoints.verify(path)
        if not problems and (path / checkpoints.STATE).exists():
            return path
        if problems and processes.rank() == 0:
            log.warning("%s is put aside: %s", path, "; ".join(map(str, problems)))
            path.rename(path.with_name(f"{path.name}.damaged"))
    return None


def _optimiser(student: Student, recipe: Recipe) -> torch.optim.AdamW:
    """Weight decay on the matrices of the layers and the head; none on embeddings, norms and biases.

    So a word that the training corpus lacks keeps the bytes of base+.
    """
    embeddings = {id(module.weight) for module in student.modules() if isinstance(module, torch.nn.Embedding)}
    decayed, kept = [], []
    for parameter in filter(lambda one: one.requires_grad, student.parameters()):
        (kept if parameter.ndim < 2 or id(parameter) in embeddings else decayed).append(parameter)
    groups = [{"params": decayed, "weight_decay": recipe.weight_decay}, {"params": kept, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=recipe.learning_rate, fused=True)


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
