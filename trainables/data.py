"""All that a trial reads while it trains, as memory-mapped arrays that open at once.

A pair is a query and one of its target documents of positive grade. Built once beside the
prepared corpus and shared read-only by every trial: no text is parsed, no teacher is called.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corpora import arrays
from corpora import scores as score_files
from corpora.documents import Corpus, Span
from corpora.errors import InputError, Problem
from corpora.families import families
from corpora.files import build_folder, sha256_of
from corpora.prepared import Prepared
from corpora.scores import TeacherScores
from corpora.spans import trim
from corpora.tokens import Tokenizer

_LAYOUT = 1
"""Part of every address: raise it when the arrays change their meaning."""


@dataclass(frozen=True)
class Ragged:
    """Lists of different lengths in one flat array: list i is values[indptr[i]:indptr[i+1]]."""

    values: NDArray
    indptr: NDArray

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, place: int) -> NDArray:
        return self.values[self.indptr[place] : self.indptr[place + 1]]

    @classmethod
    def of(cls, lists: Sequence[NDArray | Sequence], dtype: type, width: int | None = None) -> Ragged:
        shape = (0,) if width is None else (0, width)
        parts = [np.asarray(one, dtype).reshape((-1, *shape[1:])) for one in lists]
        counts = np.array([len(one) for one in parts], np.int64)
        return cls(np.concatenate([np.empty(shape, dtype), *parts]), np.concatenate([[0], np.cumsum(counts)]))


@dataclass(frozen=True)
class TrainingData:
    """
    prepared: tokens of the documents and their chunk tables.
    pair_query, pair_document: int32 [pairs], places among `query_tokens` and the documents.
    query_tokens: ids int32 of each query, without specials.
    row_start int32, row_score float32: the teacher's rows of each pair, starts ascending.
    answers: int32 [spans, 2] of each pair, trimmed.
    relevant: int32, for each query the `text` codes that answer it or a query of the same text.
    text: int32 [documents], equal for equal texts; family: int32 [documents].
    """

    prepared: Prepared
    pair_query: NDArray
    pair_document: NDArray
    query_tokens: Ragged
    row_start: Ragged
    row_score: Ragged
    answers: Ragged
    relevant: Ragged
    text: NDArray
    family: NDArray

    def __len__(self) -> int:
        return len(self.pair_query)

    @classmethod
    def open(cls, folder: Path) -> TrainingData:
        folder = Path(folder)
        if not folder.is_dir():
            raise InputError(Problem(str(folder), "no such folder of training data: build it with TrainingData.build"))
        found, manifest = arrays.open_arrays(folder)
        flat = {name: found[name] for name in _FLAT}
        ragged = {name: Ragged(found[name], found[f"{name}.indptr"]) for name in _RAGGED}
        return cls(prepared=Prepared.open(folder / manifest["prepared"]), **flat, **ragged)

    @classmethod
    def build(cls, corpus: Corpus, prepared: Prepared, tokenizer: Tokenizer, scores: Path | None, store: Path) -> Path:
        """The folder store/training/<hash>, built if it is not there. `scores` is the teacher's parquet."""
        teacher = sha256_of(scores) if scores else None
        key = f"{_LAYOUT} {corpus.sha256} {prepared.folder.name} {tokenizer.sha256} {teacher}"
        folder = Path(store) / "training" / hashlib.sha256(key.encode()).hexdigest()[:12]

        def fill(beside: Path) -> None:
            rows = score_files.read(scores) if scores else None
            arrays.write_arrays(beside, iter([dict(_arrays(corpus, tokenizer, rows))]))
            # Relative, so that a store can be moved whole.
            place = os.path.relpath(prepared.folder.resolve(), folder.resolve())
            arrays.seal(beside, {"prepared": place, "corpus": corpus.sha256, "teacher": teacher})

        return build_folder(folder, fill)


_FLAT = ("pair_query", "pair_document", "text", "family")
_RAGGED = ("query_tokens", "row_start", "row_score", "answers", "relevant")


def pairs_of(corpus: Corpus) -> list[tuple[int, int, list[Span]]]:
    """(place of the query, place of d+, trimmed answers of all its targets there), grade above 0 only."""
    found = []
    for place, query in enumerate(corpus.queries):
        answers: dict[int, list[Span]] = {}
        for target in query.targets:
            if target.grade > 0:
                document = corpus.position[target.document]
                text = corpus.documents[document].text
                answers.setdefault(document, []).extend(trim(text, span) for span in target.answers)
        found += [(place, document, spans) for document, spans in answers.items()]
    return found


def _arrays(corpus: Corpus, tokenizer: Tokenizer, scores: TeacherScores | None) -> Iterable[tuple[str, NDArray]]:
    pairs = pairs_of(corpus)
    text = _codes(document.text for document in corpus.documents)
    rows = [_rows(scores, corpus.queries[query].id, corpus.documents[document].id) for query, document, _ in pairs]
    asked = _codes(query.text for query in corpus.queries)
    relevant: dict[int, set[int]] = {}
    for query, document, _ in pairs:
        relevant.setdefault(asked[query], set()).add(int(text[document]))
    yield "pair_query", np.array([query for query, _, _ in pairs], np.int32)
    yield "pair_document", np.array([document for _, document, _ in pairs], np.int32)
    yield "text", text
    yield "family", _codes(families(corpus))
    lists = {
        "query_tokens": Ragged.of([ids for ids, _ in tokenizer.encode([q.text for q in corpus.queries])], np.int32),
        "row_start": Ragged.of([starts for starts, _ in rows], np.int32),
        "row_score": Ragged.of([values for _, values in rows], np.float32),
        "answers": Ragged.of([spans for _, _, spans in pairs], np.int32, width=2),
        "relevant": Ragged.of([sorted(relevant.get(code, ())) for code in asked.tolist()], np.int32),
    }
    for name, ragged in lists.items():
        yield name, ragged.values
        yield f"{name}.indptr", ragged.indptr


def _rows(scores: TeacherScores | None, query: str, document: str) -> tuple[NDArray, NDArray]:
    rows = scores.rows(query, document) if scores is not None else None
    if rows is None:
        return np.empty(0, np.int32), np.empty(0, np.float32)
    starts, _, values = rows
    order = np.argsort(starts, kind="stable")
    return starts[order], values[order]


def _codes(values: Iterable[str]) -> NDArray[np.int32]:
    """Equal values get equal codes, numbered by first appearance."""
    seen: dict[str, int] = {}
    return np.array([seen.setdefault(value, len(seen)) for value in values], np.int32)
