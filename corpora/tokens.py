"""The student's tokenizer, as the corpora see it: ids and character offsets, no specials (DESIGN section 5)."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import tokenizers

from corpora.errors import InputError, Problem

Encoding = tuple[np.ndarray, np.ndarray]
"""Token ids int32 `[tokens]` and character offsets int32 `[tokens, 2]` of one text."""

_BATCH_CHARACTERS = 2_000_000
_IS_SPACE = np.array([chr(code).isspace() for code in range(0x3002)])
"""By code point; the last entry stands for all that follow, of which none is white space."""


class Tokenizer:
    """Texts to token ids and offsets in Python string positions, whole: nothing is cut, padded or added."""

    def __init__(self, content: bytes):
        """`content`: the bytes of a `tokenizer.json`."""
        self._content = content
        self.sha256 = hashlib.sha256(content).hexdigest()
        self.backend = tokenizers.Tokenizer.from_buffer(content)
        self.backend.no_truncation()
        self.backend.no_padding()
        # A "[SEP]" that stands in a text is plain text, never the token that separates chunks.
        self.backend.encode_special_tokens = True

    @classmethod
    def from_folder(cls, folder: Path) -> Tokenizer:
        path = Path(folder) / "tokenizer.json"
        if not path.is_file():
            raise InputError(Problem(str(path), "no such file: a tokenizer folder holds tokenizer.json"))
        try:
            return cls(path.read_bytes())
        except Exception as error:  # the library raises nothing narrower
            raise InputError(Problem(str(path), f"is no tokenizer that can be read: {error}")) from None

    def __reduce__(self):
        return _from_content, (self._content,)

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """One `Encoding` per text, in order."""
        encodings: list[Encoding] = []
        for batch in _batches(texts):
            found = self.backend.encode_batch(batch, add_special_tokens=False)
            encodings += [_arrays(text, encoding) for text, encoding in zip(batch, found, strict=True)]
        return encodings


@functools.lru_cache(maxsize=2)
def _from_content(content: bytes) -> Tokenizer:
    """What a worker process unpickles: built once a process, not once a task."""
    return Tokenizer(content)


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Bounds the memory of the library's own, much larger, encodings."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        batch.append(text)
        characters += len(text)
        if characters >= _BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _arrays(text: str, encoding: tokenizers.Encoding) -> Encoding:
    """Ids and offsets; an offset starts at the token's first character that is not white space.

    Some tokenizers count the space before a word as the word's first character: the token would then belong
    to the chunk before. Starts never run backwards, so that chunks own contiguous tokens.
    """
    ids = np.array(encoding.ids, np.int32)
    # Flat, because a list of pairs takes numpy twice as long, and this is what preparing costs beyond the tokenizer.
    offsets = np.fromiter(itertools.chain.from_iterable(encoding.offsets), np.int32, 2 * len(ids)).reshape(-1, 2)
    if len(ids):
        codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
        starts = np.minimum(offsets[:, 0], len(codes) - 1)
        for token in np.flatnonzero(_IS_SPACE[np.minimum(codes[starts], len(_IS_SPACE) - 1)]):
            start, end = offsets[token]
            lead = (end - start) - len(text[start:end].lstrip())
            if start + lead < end:
                offsets[token, 0] = start + lead
        offsets[:, 0] = np.maximum.accumulate(offsets[:, 0])
    return ids, offsets
