"""A checkpoint as a model of the mteb library, so that its tasks and its leaderboard's own code measure it:

    import mteb
    from trainables.mteb_model import MtebModel

    mteb.evaluate(MtebModel.load(Path("runs/demo/soup/shipped-...")), mteb.get_tasks(["NFCorpus"]))

Texts of the prompt type `document` are read as documents, whole, each one vector; all others as queries.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from mteb.models import ModelMeta
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ScoringFunction
from mteb.types import PromptType

from corpora.chunks import chunk_table
from corpora.documents import Corpus, Document
from evaluators.codes import stored
from evaluators.encoder import Encoder, encode_documents
from trainables import checkpoints
from trainables.student import StudentEncoder

if TYPE_CHECKING:
    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.types import BatchedInput
    from torch.utils.data import DataLoader


class MtebModel(AbsEncoder):
    """Any `Encoder` with a tokenizer; vectors as they would be stored, at one precision and cut to one dimension."""

    def __init__(
        self, encoder: Encoder, name: str, revision: str | None = None, precision: str = "float32",
        dimension: int | None = None,
    ):
        """`name`: of the form owner/model, under which mteb keeps its results; `revision` tells checkpoints apart."""
        self.encoder, self.precision, self.dimension = encoder, precision, dimension or encoder.dimension
        self.mteb_model_meta = ModelMeta.create_empty({
            "name": name, "revision": revision, "embed_dim": self.dimension, "similarity_fn_name": ScoringFunction.COSINE,
        })  # fmt: skip

    @classmethod
    def load(
        cls, folder: Path, name: str | None = None, precision: str = "float32", dimension: int | None = None, **how: Any,
    ) -> MtebModel:
        """A checkpoint, a soup or a base+; the revision is the hash of its weights, its precision and its dimension.
        `how`: the keywords of `Student.load`."""
        encoder = StudentEncoder.load(Path(folder), **how)
        weights = checkpoints.manifest(Path(folder)).files[checkpoints.WEIGHTS][:12]
        revision = f"{weights}-{precision}-{dimension or encoder.dimension}"
        return cls(encoder, name or f"stockpot/{Path(folder).name}", revision, precision, dimension)

    def encode(
        self, inputs: DataLoader[BatchedInput], *, task_metadata: TaskMetadata, hf_split: str, hf_subset: str,
        prompt_type: PromptType | None = None, **how: Any,
    ) -> np.ndarray:
        """float32 `[texts, dimension]`. mteb's batches are joined: lengths are sorted here."""
        texts = list(itertools.chain.from_iterable(batch["text"] for batch in inputs))
        vectors = self._documents(texts) if prompt_type == PromptType.document else self.encoder.queries(texts)
        return stored(vectors, self.precision, self.encoder.quantiser, self.dimension).astype(np.float32)

    def _documents(self, texts: Sequence[str]) -> np.ndarray:
        """z `[texts, D]`; nothing that is longer than the window is cut."""
        corpus = Corpus("mteb", tuple(Document(str(place), text) for place, text in enumerate(texts)))
        table = chunk_table(corpus, "whole", self.encoder.tokenizer.encode(texts))
        return encode_documents(self.encoder, corpus, table).vectors
