"""A sentence-transformers folder as an encoder: each chunk on its own, through the library and its pipeline."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corpora.chunks import ChunkTable
from corpora.documents import Corpus
from corpora.errors import InputError, Problem
from corpora.tokens import Tokenizer
from trainables.loading import as_input
from evaluators.encoder import Encoded, Watch, unwatched

SLICE = 512
"""Texts of like length that the library gets at once, so that progress can be told."""


class SentenceTransformerEncoder:
    """Prompts, pooling, dense layers and normalisation are the folder's own.

    The library cuts what is longer than `max_seq_length` without a word. Here such a text is cut at words into pieces
    of like length, and its vector is the mean of theirs, weighted by their tokens; what is cut nevertheless is counted.
    """

    contextual = False
    quantiser = "none"

    def __init__(self, model: Any, name: str, watch: Watch = unwatched):
        """`model`: a `SentenceTransformer`. `watch`: hears tokens read so far, and of how many."""
        self.model, self.name, self.watch = model, name, watch
        self.dimension = model.get_embedding_dimension()
        self.tokenizer = Tokenizer(model.tokenizer.backend_tokenizer.to_str().encode())

    @classmethod
    def load(cls, folder: str | Path, name: str | None = None, device: str = "cpu") -> SentenceTransformerEncoder:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            raise InputError(Problem("sentence-transformers", "is not installed: pip install 'stockpot[encoders]'")) from None
        folder = Path(folder)
        if not (folder / "modules.json").is_file():
            raise InputError(Problem(str(folder / "modules.json"), "no such file: a sentence-transformers folder has one; "
                                     "a plain transformers encoder is evaluated as late:FOLDER"))
        logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
        with as_input(folder, "a sentence-transformers folder"):
            model = SentenceTransformer(str(folder), device=device, local_files_only=True)
        if not hasattr(model.tokenizer, "backend_tokenizer"):
            raise InputError(Problem(str(folder), "has no fast tokenizer (tokenizer.json), which counts its tokens"))
        return cls(model, name or folder.name)

    def queries(self, texts: Sequence[str]) -> np.ndarray:
        """float32 `[queries, dimension]`; longer ones are read like chunks, so that nothing is cut."""
        return self._encode(texts, self.model.encode_query, ("query",))[0]

    def documents(self, corpus: Corpus, table: ChunkTable) -> Encoded:
        owners, spans = table.document.tolist(), table.span.tolist()
        texts = [corpus.documents[owner].text[start:end] for owner, (start, end) in zip(owners, spans, strict=True)]
        vectors, tokens, used = self._encode(texts, self.model.encode_document, ("document", "passage", "corpus"))
        return Encoded(vectors, tokens, used, len(table), len(vectors))

    def _encode(self, texts: Sequence[str], encode: Any, prompts: tuple[str, ...]) -> tuple[np.ndarray, int, int]:
        """(float32 `[texts, dimension]`, tokens of the texts, tokens that reach the model)."""
        named = [self.model.prompts[each] for each in prompts if each in self.model.prompts]
        prompt = named[0] if named else self.model.prompts.get(self.model.default_prompt_name) or ""
        frame = len(self.model.tokenizer(prompt)["input_ids"])
        pieces, owners, weights = self._pieces(texts, frame)
        order = sorted(range(len(pieces)), key=lambda place: -weights[place])
        sums = np.zeros((len(texts), self.dimension))
        read, used, whole = 0, 0, sum(weights)
        for start in range(0, len(order), SLICE):
            part = order[start:start + SLICE]
            chosen = [pieces[place] for place in part]
            vectors = np.asarray(encode(chosen, show_progress_bar=False), np.float64)
            weight = np.array([weights[place] for place in part], np.float64)
            np.add.at(sums, [owners[place] for place in part], vectors * weight[:, None])
            used += int(weight.sum()) - self._cut([prompt + piece for piece in chosen])
            read += int(weight.sum())
            self.watch(read, whole)
        total = np.bincount(owners, weights=weights, minlength=len(texts))
        return (sums / np.maximum(total, 1)[:, None]).astype(np.float32), whole, used

    def _cut(self, texts: list[str]) -> int:
        """Tokens that the library leaves out of these texts, prompts included."""
        whole = sum(map(len, self.model.tokenizer(texts, truncation=False, verbose=False)["input_ids"]))
        return whole - int(self.model.preprocess(texts)["attention_mask"].sum())

    def _pieces(self, texts: Sequence[str], frame: int) -> tuple[list[str], list[int], list[int]]:
        """(pieces, the text of each, tokens of each or 1) that fit beside `frame` tokens; no character is lost."""
        room = (self.model.max_seq_length or 2**31) - frame
        pieces, owners, weights = [], [], []
        for owner, (text, (ids, offsets)) in enumerate(zip(texts, self.tokenizer.encode(texts), strict=True)):
            words = [place for place in range(1, len(ids)) if text[offsets[place, 0] - 1].isspace()]
            for first, last in _ranges(len(ids), room, words):
                start = offsets[first, 0] if first else 0
                end = offsets[last, 0] if last < len(ids) else len(text)
                pieces.append(text[start:end])
                owners.append(owner)
                weights.append(max(last - first, 1))
        return pieces, owners, weights


def _ranges(tokens: int, room: int, words: list[int]) -> list[tuple[int, int]]:
    """Token ranges of like length, at most `room` each, cut where a word begins if one does in the range."""
    found, first = [], 0
    while tokens - first > room:
        left = -(-(tokens - first) // room)
        last = first + -(-(tokens - first) // left)
        place = max((word for word in words if first < word <= last), default=last)
        found.append((first, place))
        first = place
    return [*found, (first, tokens)]
