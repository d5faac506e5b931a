"""Chunk and query vectors of an exported student, without stockpot: `from loader import Model`.

    model = Model(".")
    model.queries(["who pays for repairs?"])                 # float32 [1, D]
    model.documents([text], [[(0, 812), (812, 1630)]])       # one float32 [chunks, D] per document

Chunks are character spans `[start, end)` of the text; each vector knows the whole document.
`precision="int8"` or `"binary"` gives the stored codes, `dimension=d` the first d of them.
Compare by cosine. Needs numpy, torch, transformers, tokenizers and safetensors.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import tokenizers
import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoModel

from trainables.heads import codes, floats
from trainables.layouts import DocumentInput, Frame, Window, layout, question
from trainables.pooling import mean_states


class Model:
    def __init__(self, folder: str | Path, device: str = "cpu", trust_remote_code: bool = False):
        folder = Path(folder)
        about = json.loads((folder / "manifest.json").read_text())
        self.quantiser, self.frame = about["quantiser"], Frame(**about["frame"])
        self.encoder = AutoModel.from_pretrained(folder, trust_remote_code=trust_remote_code).eval().to(device)
        self.projection = load_file(folder / "2_Dense" / "model.safetensors")["linear.weight"].to(device)
        self.tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.tokenizer.encode_special_tokens = True  # a "[SEP]" in a text is plain text

    def queries(self, texts: Sequence[str], precision: str = "float32", dimension: int | None = None) -> np.ndarray:
        """[queries, d]; a query longer than the model's window is cut to it."""
        windows = [question(np.array(self._encode(text).ids, np.int32), self.frame, row) for row, text in enumerate(texts)]
        return self._stored(windows, len(texts), precision, dimension)

    def documents(
        self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]], precision: str = "float32",
        dimension: int | None = None,
    ) -> list[np.ndarray]:
        """[chunks, d] for each document, read whole; a chunk without tokens shares its predecessor's vector."""
        counts = [len(one) for one in spans]
        first = np.concatenate([[0], np.cumsum(counts)]).astype(int).tolist()
        windows: list[Window] = []
        for text, chunks, row in zip(texts, spans, first):
            encoding = self._encode(text)
            owned = _owned(text, encoding.offsets, np.array(chunks, np.int64).reshape(-1, 2))
            windows += layout(DocumentInput(np.array(encoding.ids, np.int32), owned), self.frame, row)
        vectors = self._stored(windows, first[-1], precision, dimension)
        return [vectors[start:end] for start, end in pairwise(first)]

    def _encode(self, text: str) -> tokenizers.Encoding:
        return self.tokenizer.encode(text, add_special_tokens=False)

    @torch.inference_mode()
    def _stored(self, windows: list[Window], rows: int, precision: str, dimension: int | None) -> np.ndarray:
        """Pool, project, quantise, cut: in this order."""
        z: Tensor = mean_states(self.encoder, windows, rows, self.frame.pad) @ self.projection.T
        if precision == "float32":
            kept = floats(z, self.quantiser)
        elif precision == "int8":
            kept = codes(z, self.quantiser)
        elif precision == "binary":
            kept = torch.where(z >= 0, 1, -1).to(torch.int8)
        else:
            raise ValueError(f"precision {precision!r}: allowed are float32, int8, binary")
        return kept[:, :dimension].cpu().numpy()


def _owned(text: str, offsets: Sequence[tuple[int, int]], chunks: np.ndarray) -> np.ndarray:
    """int64 [chunks, 2], token ranges: a token belongs to each chunk that holds its first character
    that is not white space."""
    firsts = [start + len(text[start:end]) - len(text[start:end].lstrip()) for start, end in offsets]
    owned = np.searchsorted(np.maximum.accumulate(np.array(firsts, np.int64)), chunks)
    filled = np.flatnonzero(owned[:, 0] < owned[:, 1])
    if not len(filled):
        return owned
    return owned[filled[np.maximum(np.searchsorted(filled, np.arange(len(owned)), side="right") - 1, 0)]]
