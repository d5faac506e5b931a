"""Vectors that exist already, of queries and `given` chunks: a JSON file, or for large ones a folder of arrays.

The file: `{"queries": {id: vector}, "chunks": {document id: [vector, ...]}}`. JSON numbers stay float64: they are
scored as they are written, not as float32 would round them. The folder: `evaluators/vector_arrays.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from corpora.chunks import ChunkTable
from corpora.documents import Corpus
from corpora.errors import InputError, Problem
from corpora.importers.tables import content_of
from corpora.jsonl import kind, parse
from evaluators.encoder import Encoded
from evaluators.vector_arrays import NO_DIRECTION, read_arrays

MOST_PROBLEMS = 50
"""Problems that are listed one by one; the rest is counted."""


class FileVectors:
    """An `Encoder` whose vectors exist already; only the chunking `given` can be evaluated."""

    quantiser = "none"
    contextual = True
    tokenizer = None

    def __init__(self, name: str, corpus: Corpus, queries: np.ndarray, chunks: np.ndarray):
        """queries `[queries, dimension]` and chunks `[chunks, dimension]`, in the corpus's order."""
        self.name, self.corpus = name, corpus
        self._queries, self._chunks = queries, chunks
        self.dimension = queries.shape[1]

    @classmethod
    def read(cls, path: Path, corpus: Corpus) -> FileVectors:
        """Every query and every `given` chunk of the corpus must have a vector; others there are passed over."""
        if not corpus.queries:
            raise InputError(Problem(f"corpus {corpus.name!r}", "has no queries: there is nothing to measure"))
        if Path(path).is_dir():
            return cls(Path(path).name, corpus, *read_arrays(Path(path), corpus))
        content = _content(Path(path))
        problems: list[Problem] = []
        widths: dict[int, str] = {}
        queries = [_rows(path, f"query {query.id!r}", [content["queries"].get(query.id)], 1, widths, problems)
                   for query in corpus.queries]
        chunks = [_rows(path, f"document {document.id!r}", content["chunks"].get(document.id),
                        len(document.chunks or ()), widths, problems) for document in corpus.documents]
        if len(widths) > 1:
            problems.append(Problem(str(path), "vectors differ in length: " + ", ".join(
                f"{width} ({where})" for width, where in widths.items())))
        if problems:
            more = len(problems) - MOST_PROBLEMS
            raise InputError(problems[:MOST_PROBLEMS] + [Problem(str(path), f"and {more} more")] * (more > 0))
        filled = [rows for rows in chunks if len(rows)]
        joined = np.concatenate(filled) if filled else np.empty((0, next(iter(widths), 0)))
        return cls(Path(path).stem, corpus, np.concatenate(queries), joined)

    def queries(self, texts: Sequence[str]) -> np.ndarray:
        if list(texts) != [query.text for query in self.corpus.queries]:
            raise InputError(Problem(self.name, f"holds the vectors of the queries of {self.corpus.name} only: a suite "
                                                "with texts of its own, such as needle, needs an encoder"))
        return self._queries

    def documents(self, corpus: Corpus, table: ChunkTable) -> Encoded:
        if corpus is not self.corpus or table.chunking != "given":
            raise InputError(Problem(self.name, f"holds vectors of the given chunks of {self.corpus.name}; asked for "
                                                f"`{table.chunking}` of {corpus.name}"))
        return Encoded(self._chunks, tokens_in=0, tokens_used=0, chunks_in=len(table), vectors_out=len(self._chunks))


def _content(path: Path) -> dict:
    try:
        content = parse(content_of(path), finite=False)
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
    except ValueError as error:
        raise InputError(Problem(str(path), str(error))) from None
    if not isinstance(content, dict) or not all(isinstance(content.get(key), dict) for key in ("queries", "chunks")):
        raise InputError(Problem(str(path), 'expected {"queries": {id: vector}, "chunks": {document: [vector, ...]}}'))
    return content


def _rows(
    path: Path, where: str, found: object, count: int, widths: dict[int, str], problems: list[Problem],
) -> np.ndarray:
    """Vectors float64 `[count, dimension]`; what is wrong with them goes to `problems`."""
    nothing = np.empty((0, 0))
    if not found or found == [None]:
        if count:
            problems.append(Problem(f"{path}: {where}", "has no vector in the file"))
        return nothing
    if wrong := _no_vectors(found):
        problems.append(Problem(f"{path}: {where}", wrong))
        return nothing
    try:
        rows = np.array(found, np.float64).reshape(len(found), -1)
    except OverflowError:
        problems.append(Problem(f"{path}: {where}", "holds a whole number that no float can hold"))
        return nothing
    if len(rows) != count:
        problems.append(Problem(f"{path}: {where}", f"has {len(rows)} vectors for {count} chunks"))
    if not np.isfinite(rows).all():
        problems.append(Problem(f"{path}: {where}", "holds numbers that are not finite"))
    elif len(rows) and not rows.any(axis=1).all():
        problems.append(Problem(f"{path}: {where}", NO_DIRECTION))
    if len(rows):
        widths.setdefault(rows.shape[1], where)
    return rows


def _no_vectors(found: object) -> str | None:
    """Why this is no list of vectors of one length, or None. numpy would take true, null and strings of digits, too."""
    expected = "expected lists of numbers, all of one length"
    for vector in found if isinstance(found, list) else [found]:
        if not isinstance(vector, list):
            return f"{expected}, found {kind(vector)}"
        if not set(map(type, vector)) <= {int, float}:
            return f"{expected}, found {kind(next(each for each in vector if type(each) not in (int, float)))} in one"
    lengths = set(map(len, found))
    return expected if len(lengths) > 1 else "holds a vector of no numbers" if lengths == {0} else None
