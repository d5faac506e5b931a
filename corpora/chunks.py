"""The chunks of a whole corpus under one chunking, in flat arrays (DESIGN section 5, Layout)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

import numpy as np

from corpora.chunkings import Chunking
from corpora.documents import Corpus, Document
from corpora.errors import InputError, Problem
from corpora.tokens import Encoding


def trec_id(identifier: str) -> str:
    """The id as it stands in TREC files and in every order: white space and % percent-encoded (DESIGN section 6)."""
    return re.sub(r"[\s%]", lambda match: quote(match[0]), identifier)


@dataclass(frozen=True, eq=False)
class ChunkTable:
    """Chunks of all documents, document after document.

    document: int32 [chunks], position in `corpus.documents`
    number:   int32 [chunks], index inside the document as cut; joining leaves gaps, never renumbers
    span:     int64 [chunks, 2], characters, after joining
    tokens:   int32 [chunks, 2], token range in the document; None when cut without a tokenizer
    indptr:   int64 [documents + 1]: document i holds the chunks indptr[i]:indptr[i + 1]
    context_only: tokens that lie in no `given` chunk (0 without a tokenizer)
    """

    chunking: str
    document_ids: tuple[str, ...]
    document: np.ndarray
    number: np.ndarray
    span: np.ndarray
    tokens: np.ndarray | None
    indptr: np.ndarray
    context_only: int = 0

    def __len__(self) -> int:
        return len(self.number)

    def of(self, document: int) -> slice:
        """Where the chunks of the document at this position lie."""
        return slice(int(self.indptr[document]), int(self.indptr[document + 1]))

    def span_of(self, document: int) -> np.ndarray:
        """Spans int64 `[its chunks, 2]` of the document at this position."""
        return self.span[self.of(document)]

    def ids(self) -> list[str]:
        """`{document}#{number:06d}` per chunk, percent-encoded."""
        names = [trec_id(identifier) for identifier in self.document_ids]
        return [
            f"{names[document]}#{number:06d}"
            for document, number in zip(self.document.tolist(), self.number.tolist(), strict=True)
        ]


def chunk_table(corpus: Corpus, chunking: Chunking | str, encodings: Sequence[Encoding] | None = None) -> ChunkTable:
    """Cuts every document; `encodings` hold `Tokenizer.encode` of its text, and are needed by `tokens:N`.

    With them each chunk gets its tokens, and a chunk without tokens joins the preceding one.
    """
    chunking = Chunking.parse(chunking) if isinstance(chunking, str) else chunking
    if chunking.kind == "given":
        _refuse_missing(corpus)
    numbers, spans, tokens, context_only = [], [], [], 0
    for place, document in enumerate(corpus.documents):
        if encodings is None:
            span = close_gaps(document.text, chunking.spans(document))
            number = np.arange(len(span), dtype=np.int32)
        else:
            number, span, owned, outside = cut_document(document, chunking, encodings[place][1])
            tokens.append(owned)
            context_only += outside
        numbers.append(number)
        spans.append(span)
    counts = np.array([len(number) for number in numbers], np.int64)
    return ChunkTable(
        chunking=str(chunking),
        document_ids=tuple(document.id for document in corpus.documents),
        document=np.repeat(np.arange(len(counts), dtype=np.int32), counts),
        number=_joined(numbers, np.empty(0, np.int32)),
        span=_joined(spans, np.empty((0, 2), np.int64)),
        tokens=None if encodings is None else _joined(tokens, np.empty((0, 2), np.int32)),
        indptr=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        context_only=context_only,
    )


def cut_document(
    document: Document,
    chunking: Chunking,
    offsets: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Numbers int32 `[chunks]`, spans int64 `[chunks, 2]` and token ranges int32 `[chunks, 2]` of one document
    after joining, and how many of its tokens lie in no chunk. `offsets` int `[tokens, 2]`.

    A token belongs to each chunk that holds its first character.
    """
    span = close_gaps(document.text, chunking.spans(document, offsets))
    owned = np.searchsorted(offsets[:, 0], span).astype(np.int32)
    covered = np.zeros(len(offsets) + 1, np.int64)
    np.add.at(covered, owned[:, 0], 1)
    np.add.at(covered, owned[:, 1], -1)
    outside = int((np.cumsum(covered)[:-1] == 0).sum())
    number, span, owned = _join(span, owned)
    return number, span, owned, outside


def close_gaps(text: str, span: np.ndarray) -> np.ndarray:
    """Gives the white space between two chunks to the preceding one, that at the text's end to the last.

    Only publishers' chunks leave gaps. `span` int64 `[chunks, 2]`, in any order, overlapping or not.
    """
    starts = np.append(np.sort(span[:, 0]), len(text))
    following = starts[np.searchsorted(starts, span[:, 1])]
    for chunk in np.flatnonzero(following > span[:, 1]):
        end = span[chunk, 1]
        if text[end : following[chunk]].isspace() and not ((span[:, 0] < end) & (end < span[:, 1])).any():
            span[chunk, 1] = following[chunk]
    return span


def _join(span: np.ndarray, owned: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Chunks without tokens join the preceding chunk that has some, the first ones the next; numbers stay."""
    filled = owned[:, 0] < owned[:, 1]
    if filled.all():
        return np.arange(len(span), dtype=np.int32), span, owned
    keep = np.flatnonzero(filled)
    if not len(keep):
        keep = np.zeros(1, np.int64)
    joins = np.maximum(np.searchsorted(keep, np.arange(len(span)), side="right") - 1, 0)
    joined = span[keep]
    np.minimum.at(joined[:, 0], joins, span[:, 0])
    np.maximum.at(joined[:, 1], joins, span[:, 1])
    return keep.astype(np.int32), joined, owned[keep]


def _refuse_missing(corpus: Corpus) -> None:
    missing = [document.id for document in corpus.documents if document.chunks is None]
    if missing:
        raise InputError(
            Problem(
                f"{corpus.name}: document {identifier!r}",
                "has no `chunks`, which the chunking `given` needs: give them, or use another chunking",
            )
            for identifier in missing
        )


def _joined(parts: list[np.ndarray], empty: np.ndarray) -> np.ndarray:
    return np.concatenate(parts) if parts else empty
