"""The student: a pretrained encoder, mean pooling, a projection (DESIGN section 5)."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from corpora.chunks import ChunkTable
from corpora.documents import Corpus
from corpora.errors import InputError, Problem
from corpora.tokens import Tokenizer
from evaluators.encoder import Encoded, Watch, unwatched
from trainables import checkpoints
from trainables.checkpoints import Manifest, State
from trainables.layouts import DocumentInput, Frame, Window, layout, question
from trainables.loading import encoder_from_config, pooler_of
from trainables.pooling import mean_states

log = logging.getLogger(__name__)


class Student(nn.Module):
    """Documents and queries to vectors z: pooled, projected, not yet quantised, cut or normalised.

    The encoder may run under bf16 autocast; means, projection and all that follows run in float32.
    """

    def __init__(self, encoder: nn.Module, about: Manifest, files: dict[str, bytes], bf16: bool = False):
        super().__init__()
        self.encoder = encoder
        for parameter in pooler_of(encoder):
            parameter.requires_grad_(False)
        self.projection = nn.utils.skip_init(nn.Linear, encoder.config.hidden_size, about.dimension, bias=False)
        self.about, self.files, self.bf16 = about, files, bf16
        self.tokenizer = Tokenizer(files["tokenizer.json"])

    @classmethod
    def load(
        cls, folder: Path, *, attention: str = "sdpa", precision: str = "float32", gradient_checkpointing: bool = False,
        device: str = "cpu",
    ) -> Student:
        """A checkpoint, or a base+ folder, which is the untrained student; its checksums are verified.

        attention: `sdpa`, `flash_attention_2` (a GPU and bf16) or `eager`; precision: `float32` or `bf16`.
        """
        problems = checkpoints.verify(folder) or _unfit(attention, precision, device)
        if problems:
            raise InputError(problems)
        about, files = checkpoints.manifest(folder), checkpoints.files(folder)
        encoder = encoder_from_config(folder, attention)
        student = cls(encoder, about, files, bf16=precision == "bf16")
        student.load_state_dict(checkpoints.weights(folder))
        if gradient_checkpointing:
            encoder.activation_checkpointing_enable({"use_reentrant": False})
        return student.to(device)

    @property
    def frame(self) -> Frame:
        return self.about.frame

    @property
    def dimension(self) -> int:
        return self.about.dimension

    def forward_documents(self, documents: Sequence[DocumentInput]) -> Tensor:
        """z float32 `[chunks, D]`, document after document; a chunk without tokens is 0."""
        first, windows = 0, []
        for document in documents:
            windows += layout(document, self.frame, first)
            first += len(document.chunks)
        return self.project(windows, first)

    def forward_queries(self, queries: Sequence[str] | Sequence[np.ndarray]) -> Tensor:
        """z float32 `[queries, D]` of texts, or of their token ids without specials.

        A query longer than the model's window is cut to it, as sentence-transformers does.
        """
        ids = [ids for ids, _ in self.tokenizer.encode(queries)] if len(queries) and isinstance(queries[0], str) else queries
        return self.project([question(one, self.frame, row) for row, one in enumerate(ids)], len(ids))

    def project(
        self, windows: Sequence[Window], rows: int, budget: int | None = None, watch: Watch = unwatched,
    ) -> Tensor:
        """z float32 `[rows, D]` of windows; see `pooling.mean_states`."""
        means = mean_states(self.encoder, windows, rows, self.frame.pad, bf16=self.bf16, budget=budget, watch=watch)
        with torch.autocast(means.device.type, enabled=False):
            return self.projection(means)

    def save(
        self, folder: Path, *, step: int, seed: int, recipe: dict[str, Any] | None = None, quantiser: str | None = None,
        state: State | None = None,
    ) -> Path:
        """A checkpoint folder (`trainables.checkpoints`); the recipe's quantiser, if given, is its head."""
        about = self.about.model_dump(exclude={"files"}) | {"step": step, "seed": seed, "recipe": recipe}
        if quantiser is not None:
            about["quantiser"] = quantiser
        return checkpoints.write(folder, self.state_dict(), self.files, state, **about)


class StudentEncoder:
    """A student as the evaluators see it."""

    contextual = True

    def __init__(self, student: Student, name: str, quantiser: str | None = None, budget: int | None = None):
        """`quantiser`: of a student in training, its recipe's; by default the checkpoint's own. `budget`:
        padded tokens of one pass; by default what suits the device."""
        self.student, self.name, self.budget = student, name, budget
        self.dimension = student.dimension
        self.quantiser = quantiser or student.about.quantiser
        self.tokenizer = student.tokenizer
        self.watch: Watch = unwatched
        self.truncated = 0
        """Queries so far that were longer than the window and cut to it."""

    @classmethod
    def load(cls, folder: Path, name: str | None = None, **how: Any) -> StudentEncoder:
        """`how`: the keywords of `Student.load`."""
        return cls(Student.load(folder, **how).eval(), name or Path(folder).name)

    @torch.inference_mode()
    def queries(self, texts: Sequence[str]) -> np.ndarray:
        """float32 `[queries, D]`."""
        student = self.student
        ids = [ids for ids, _ in self.tokenizer.encode(texts)]
        cut = sum(len(one) > student.frame.capacity for one in ids)
        if cut:
            self.truncated += cut
            log.warning("%s: %d of %d queries are longer than the window of %d tokens and were cut to it",
                        self.name, cut, len(ids), student.frame.window)
        windows = [question(one, student.frame, row) for row, one in enumerate(ids)]
        return student.project(windows, len(ids), self.budget).cpu().numpy()

    @torch.inference_mode()
    def documents(self, corpus: Corpus, table: ChunkTable) -> Encoded:
        """All chunks of the table, each document read whole."""
        if table.tokens is None:
            raise ValueError(f"the chunk table {table.chunking} was cut without this encoder's tokenizer")
        windows, pooled, context = [], 0, 0
        for place, (ids, _) in enumerate(self.tokenizer.encode([document.text for document in corpus.documents])):
            rows = table.of(place)
            own = layout(DocumentInput(ids, table.tokens[rows]), self.student.frame, rows.start)
            pooled += sum(len(window.positions) for window in own)
            context += _context_read(len(ids), table.tokens[rows], own)
            windows += own
        vectors = self.student.project(windows, len(table), self.budget, self.watch).cpu().numpy()
        asked = int((table.tokens[:, 1] - table.tokens[:, 0]).sum()) + table.context_only
        return Encoded(vectors, asked, pooled + context, len(table), len(vectors))


def _context_read(tokens: int, chunks: np.ndarray, windows: Sequence[Window]) -> int:
    """Tokens in no chunk that some window holds."""
    read, owned = np.zeros(tokens, bool), np.zeros(tokens, bool)
    for window in windows:
        read[window.source[window.source >= 0]] = True
    for first, last in chunks.tolist():
        owned[first:last] = True
    return int((read & ~owned).sum())


def _unfit(attention: str, precision: str, device: str) -> list[Problem]:
    problems = []
    if device.startswith("cuda") and not torch.cuda.is_available():
        problems.append(Problem("device", f"{device!r} was asked for, and torch finds no GPU here: use 'cpu'"))
    if attention == "flash_attention_2" and not (device.startswith("cuda") and precision == "bf16"):
        problems.append(Problem("recipe.attention", "flash_attention_2 needs a GPU and `precision: bf16`; use `sdpa` otherwise"))
    elif attention == "flash_attention_2" and importlib.util.find_spec("flash_attn") is None:
        problems.append(Problem("recipe.attention", "flash_attention_2 needs the package flash-attn; install it or use `sdpa`"))
    return problems
