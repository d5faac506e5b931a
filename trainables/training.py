"""The built-in training loop: the same recipe, data and base+ give the same bytes, also when resumed.

The student has no dropout and batches are functions of (seed, step): the weights, the
optimiser's moments and the step are all the state there is.

On a CPU, glibc gives the large blocks of every step back to the system and faults them in
anew; a process started with MALLOC_MMAP_THRESHOLD_=4000000000 and
MALLOC_TRIM_THRESHOLD_=8000000000 in its environment keeps them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from corpora.errors import InputError, NonFinite, Problem
from trainables import processes
from trainables.batches import Batch
from trainables.data import TrainingData
from trainables.layouts import DocumentInput
from trainables.mixture import MixedBatches, Mixture
from trainables.objective import outcome
from trainables.recipe import Recipe
from trainables.schedules import learning_rate
from trainables.student import Student
from trainables.trainers import load_checkpoint, save_checkpoint


class BuiltIn:
    """The trainer of a sweep that names none (trainables/trainers.py has the protocol).

    step: optimiser steps done; student: the model as it is now.
    """

    Recipe = Recipe
    shares_batches = True

    def __init__(self, start: Path, data: Path, recipe: Recipe, device: str):
        self.recipe, self.mixture = recipe, Mixture.open(data)
        if recipe.documents_per_batch < processes.count():
            raise InputError(Problem("recipe.documents_per_batch", f"is {recipe.documents_per_batch} for "
                                     f"{processes.count()} processes: each needs at least one document"))
        self.batches = MixedBatches(self.mixture, recipe)
        self.student = Student.load(
            start, attention=recipe.attention, precision=recipe.precision,
            gradient_checkpointing=recipe.gradient_checkpointing, device=device,
        ).train()
        self.optimiser = _optimiser(self.student, recipe)
        self.step = 0

    def train(self, steps: int) -> dict[str, float]:
        """The means over the steps of what each measured (`Outcome.measures`, `gradient_norm`, `learning_rate`,
        `tokens` a step)."""
        measured = []
        for _ in range(steps):
            measured.append(self._update())
            self.step += 1
        return {name: float(np.mean([step[name] for step in measured])) for name in measured[0]}

    def save(self, folder: Path) -> None:
        save_checkpoint(folder, self.student, self.optimiser, self.recipe, self.step)

    def load(self, folder: Path) -> None:
        decays = [group["weight_decay"] for group in self.optimiser.param_groups]
        self.step = load_checkpoint(folder, self.student, self.optimiser)
        for group, decay in zip(self.optimiser.param_groups, decays, strict=True):
            group["weight_decay"] = decay  # the recipe's, not the one that the checkpoint was trained under

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
        prepared = self._data(batch).prepared
        table = prepared.table(batch.chunking)
        documents = batch.documents[places].tolist()
        return self.student.forward_documents(
            [DocumentInput(prepared.encodings(place)[0], table.tokens[table.of(place)]) for place in documents])

    def _queries(self, batch: Batch, places: np.ndarray) -> Tensor:
        data = self._data(batch)
        return self.student.forward_queries([data.query_tokens[query] for query in data.pair_query[batch.pairs[places]].tolist()])

    def _tokens(self, batch: Batch) -> int:
        data = self._data(batch)
        documents = sum(len(data.prepared.encodings(place)[0]) for place in batch.documents.tolist())
        return documents + sum(len(data.query_tokens[query]) for query in data.pair_query[batch.pairs].tolist())

    def _data(self, batch: Batch) -> TrainingData:
        return self.mixture.parts[batch.dataset]


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
