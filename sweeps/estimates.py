"""What a sweep will cost, from sizes alone: tokens, operations, hours, bytes.

Rough on purpose and said to be so: a matrix model of `parameters` costs 2 operations a
parameter and token forward and 6 with training, attention 4 * width more for each token it
looks at. How fast a machine is stands in SPEED; a factor of two either way is usual.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sweeps.config import Evaluation
from trainables.recipe import LoopRecipe

CHARACTERS_PER_TOKEN = 4.2  # of English prose under a WordPiece vocabulary
SPEED = {"cpu": 4e10, "gpu": 5e13}  # operations a second: one CPU thread in float32, one accelerator in bf16
TRAINED_BYTES, KEPT_BYTES, STATE_BYTES = 16, 4, 8  # a parameter: in training memory; in a checkpoint; in its state
BATCH = 16  # documents a step of a trainer that does not say
ACTIVATIONS = 40  # numbers kept for the backward pass, a token, layer and unit of width


@dataclass(frozen=True)
class ModelSize:
    layers: int
    width: int
    inner: int  # of the feed-forward layers
    embeddings: int  # rows
    window: int  # tokens read at once
    dimension: int

    @property
    def matrices(self) -> int:
        """Parameters that every token meets."""
        return self.layers * (4 * self.width**2 + 2 * self.width * self.inner) + self.width * self.dimension

    @property
    def parameters(self) -> int:
        return self.matrices + self.embeddings * self.width

    def operations(self, tokens: float, length: float) -> float:
        """Forward, for texts of `length` tokens each."""
        seen = min(length, self.window)
        return tokens * (2 * self.matrices + 4 * self.layers * self.width * seen)


@dataclass(frozen=True)
class CorpusSize:
    documents: int
    queries: int
    characters: int

    @property
    def tokens(self) -> float:
        return self.characters / CHARACTERS_PER_TOKEN

    @property
    def tokens_each(self) -> float:
        return self.tokens / max(1, self.documents)


@dataclass(frozen=True)
class Estimate:
    """Upper bounds: as if no trial stopped early."""

    trials: int
    steps: int  # of all trials
    checkpoints: int
    training_tokens: float
    training_hours: float  # of one trial after another
    evaluation_hours: float
    wall_hours: float  # over the slots
    gpu_hours: float
    disk_gb: float
    memory_gb: float  # of one trial

    def told(self) -> str:
        return (f"about {hours(self.training_hours)} of training and {hours(self.evaluation_hours)} of evaluation, "
                f"{hours(self.wall_hours)} of wall time, {self.gpu_hours:.1f} GPU-hours")  # fmt: skip


def estimate(
    model: ModelSize,
    train: CorpusSize,
    dev: CorpusSize,
    recipes: Sequence[LoopRecipe],
    trials: int,
    encodes: int,
    slots: int,
    gpus: float,
) -> Estimate:
    """`recipes`: a sample of the space, whose mean stands for each trial; `encodes`: passes over dev per evaluation."""
    mean = 1 / len(recipes)
    steps = mean * sum(recipe.steps for recipe in recipes)
    checkpoints = mean * sum(-(-recipe.steps // recipe.checkpoint_every) for recipe in recipes)
    batch = mean * sum(getattr(recipe, "documents_per_batch", BATCH) for recipe in recipes) * train.tokens_each
    threads = mean * sum(recipe.threads for recipe in recipes)
    speed = SPEED["gpu"] * gpus if gpus else SPEED["cpu"] * threads
    training = trials * steps * 3 * model.operations(batch, train.tokens_each) / speed / 3600
    evaluation = trials * checkpoints * encodes * model.operations(dev.tokens, dev.tokens_each) / speed / 3600
    activations = 4 * ACTIVATIONS * batch * model.layers * model.width
    return Estimate(
        trials=trials,
        steps=round(trials * steps),
        checkpoints=round(trials * checkpoints),
        training_tokens=trials * steps * batch,
        training_hours=training,
        evaluation_hours=evaluation,
        wall_hours=(training + evaluation) / slots,
        gpu_hours=gpus * (training + evaluation),
        disk_gb=trials * checkpoints * model.parameters * (KEPT_BYTES + STATE_BYTES) / 1e9,
        memory_gb=(model.parameters * TRAINED_BYTES + activations) / 1e9,
    )


@dataclass(frozen=True)
class MLflowLoad:
    """What the projector will ask of the tracking server, had no trial stopped early."""

    runs: int
    logged_models: int
    metrics: int
    requests: int


REPORTED = 20  # metrics of a trial's report: inline ones, losses and their parts, what it took of its machine
REQUESTS_A_TRIAL, REQUESTS_A_CHECKPOINT, REQUESTS_A_SWEEP = 11, 5, 20


def mlflow_load(found: Estimate, evaluation: Evaluation) -> MLflowLoad:
    """Counted off the projector: a run is made, looked up, given its params and closed; a checkpoint is a batch of
    its report, a logged model, a batch of its figures and the link between them."""
    figures = {
        "context": 3 * len(evaluation.k) + 1,
        "chunk-size": len(evaluation.chunk_sizes) + 2,
        "storage": (1 + len(evaluation.dimensions)) * len(evaluation.precisions),
        "spans": 9,
        "needle": 20,
    }
    each = REPORTED + sum(figures.get(suite, 1) for suite in evaluation.suites)
    requests = REQUESTS_A_SWEEP + found.trials * REQUESTS_A_TRIAL + found.checkpoints * REQUESTS_A_CHECKPOINT
    return MLflowLoad(1 + found.trials, 1 + found.checkpoints, found.checkpoints * each, requests)


def hours(number: float) -> str:
    return f"{number:.1f} hours" if number >= 1 else f"{60 * number:.1f} minutes"
