"""What one trial needs to train: the student it starts from and the recipe it follows.

Every field of `Recipe` can be fixed or searched by a sweep. Both are plain, frozen
values: the same recipe, seed and data give the same checkpoint.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from corpora.chunkings import Chunking
from corpora.yaml_model import LARGEST_SEED, Frozen


class StudentConfig(Frozen):
    """The base+ checkpoint (DESIGN section 1): pretrained encoder, separator token, head."""

    encoder: str = Field("minilm", description="`minilm` (the packaged all-MiniLM-L6-v2) or a folder with a transformers encoder")
    layers: int | None = Field(None, ge=1, description="layers kept, from the first; all by default")
    dimension: int = Field(384, ge=1, le=8192, description="D, the dimension of the projected vectors")
    base_seed: int = Field(0, ge=0, le=LARGEST_SEED, description="seed of the separator's row and of the head")
    window: int | None = Field(None, ge=16, description="tokens read in one pass, specials included; the model's own limit by default")
    trust_remote_code: bool = False


class TeacherConfig(Frozen):
    """Who scored the tokens; scored once, cached by content (DESIGN section 5)."""

    kind: Literal["spans", "late-interaction", "token-classifier", "file"] = "spans"
    path: str | None = Field(None, description="`file`: a parquet of scores; otherwise a model folder (`late-interaction` takes `minilm` too)")
    seed: int = Field(0, ge=0, le=LARGEST_SEED, description="`spans`: seed of the noise")
    smoothing: float = Field(0.1, ge=0, le=1, description="`spans`: how far scores leak to the answer's neighbours")
    noise: float = Field(0.05, ge=0, description="`spans`: standard deviation of the noise, in score units")
    trust_remote_code: bool = False


class LoopRecipe(Frozen):
    """What a sweep needs to know of any training loop; a trainer's own `Recipe` adds its settings.

    CHANGEABLE: fields that a trial may go on with under another value (`scheduler: {kind: pbt}`): neither shapes nor
    schedules depend on them, and the trainer's `load` takes none of them from the checkpoint.
    """

    CHANGEABLE: ClassVar[tuple[str, ...]] = ()

    steps: int = Field(60, ge=1, le=10**9, description="optimiser steps")
    checkpoint_every: int = Field(20, ge=1, description="optimiser steps between checkpoints")
    quantiser: Literal["none", "int8-absmax", "int8-tanh"] = "none"
    threads: int = Field(1, ge=1, le=1024, description="CPU threads of the trial: part of the recipe, for sums depend on it")
    seed: int = Field(0, ge=0, le=LARGEST_SEED)


class Recipe(LoopRecipe):
    """The built-in trainer's (trainables/training.py)."""

    CHANGEABLE: ClassVar[tuple[str, ...]] = (
        "weight", "document_temperature", "chunk_temperature", "teacher_temperature", "top_n", "chunking_mix",
        "learning_rate", "weight_decay", "gradient_clip",
    )  # fmt: skip

    objective: Literal["distil", "gold"] = "distil"
    weight: float = Field(0.5, ge=0, le=1, description="w in L = (1-w) L_doc + w L_dist")
    document_temperature: float = Field(0.05, gt=0)
    chunk_temperature: float = Field(0.05, gt=0)
    teacher_temperature: float = Field(0.1, gt=0)
    top_n: int = Field(3, ge=1, description="highest teacher scores averaged to a chunk's relevance")
    chunking_mix: dict[str, float] = Field(default={"sentence": 1.0}, description="chunking -> share of the batches")
    dimensions: tuple[int, ...] = Field((), description="Matryoshka dimensions; D is always one of them")
    dimension_weights: tuple[float, ...] | None = Field(None, description="weights of `dimensions`; equal by default")
    documents_per_batch: int = Field(16, ge=2, description="distinct documents of a step, over all processes")
    siblings_per_batch: int = Field(2, ge=1, description="documents of one family drawn together, as hard negatives; more are harder")
    queries_per_document: int = Field(2, ge=1, description="pairs of each drawn document, as far as it has so many")
    documents_per_pass: int | None = Field(None, ge=1, description="documents encoded at once; fewer than the batch: gradients are cached")
    learning_rate: float = Field(6e-4, gt=0, description="suits tens of steps of a shallow student; deeper or longer, lower")
    weight_decay: float = Field(0.01, ge=0)
    warmup_steps: int = Field(5, ge=0)
    decay_steps: int = Field(20, ge=0, description="last steps, over which the learning rate falls to 0")
    gradient_clip: float = Field(1.0, gt=0, description="largest norm of the gradient")
    precision: Literal["float32", "bf16"] = "float32"
    attention: Literal["sdpa", "flash_attention_2", "eager"] = "sdpa"
    gradient_checkpointing: bool = False

    @field_validator("chunking_mix")
    @classmethod
    def _known_chunkings(cls, mix: dict[str, float]) -> dict[str, float]:
        if not mix or any(share <= 0 for share in mix.values()):
            raise ValueError(f"a chunking mix needs positive shares, found {mix}")
        return {str(Chunking.parse(spelling)): share for spelling, share in mix.items()}

    @field_validator("dimensions")
    @classmethod
    def _positive_dimensions(cls, dimensions: tuple[int, ...]) -> tuple[int, ...]:
        if any(d < 1 for d in dimensions) or len(set(dimensions)) < len(dimensions):
            raise ValueError(f"Matryoshka dimensions are distinct and positive, found {dimensions}")
        return dimensions

    @model_validator(mode="after")
    def _weights_match(self) -> Recipe:
        if self.dimension_weights is not None and len(self.dimension_weights) != len(self.dimensions):
            raise ValueError(f"{len(self.dimension_weights)} dimension_weights for {len(self.dimensions)} dimensions: give one each")
        return self
