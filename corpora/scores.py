"""Teacher scores: rows over characters, written once and read for ever (DESIGN section 5, Teachers).

A parquet file with the columns query, document, start, end, score and, where the teacher has one, logit.
Characters, never token indices, so that changing the student's tokenizer or chunking calls no teacher.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corpora.documents import Corpus
from corpora.errors import InputError, Problem
from corpora.files import write_atomically

_SCHEMA = pa.schema(
    [
        ("query", pa.string()),
        ("document", pa.string()),
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("score", pa.float32()),
        ("logit", pa.float32()),
    ]
)
_NUMBERS = {"start": np.int32, "end": np.int32, "score": np.float32, "logit": np.float32}
_SHOWN = 20


@dataclass(frozen=True)
class PairRows:
    """What a teacher says of one (query, document): `starts`, `ends` int `[rows]` characters, `scores`, `logits`
    float `[rows]`; rows of one span from overlapping windows are averaged on writing."""

    query: str
    document: str
    starts: np.ndarray
    ends: np.ndarray
    scores: np.ndarray
    logits: np.ndarray | None = None


class TeacherScores:
    """The rows of every scored pair, each pair's in reading order."""

    def __init__(self, path: Path, table: pa.Table):
        self.path = path
        self._columns = {name: table[name].to_numpy() for name in ("start", "end", "score")}
        self._pairs = _pair_ranges(table)

    def __len__(self) -> int:
        return len(self._pairs)

    def rows(self, query: str, document: str) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Starts int32, ends int32, scores float32 `[rows]` of the pair, or None when it was not scored."""
        place = self._pairs.get((query, document))
        if place is None:
            return None
        return tuple(self._columns[name][place] for name in ("start", "end", "score"))

    def problems(self, corpus: Corpus) -> list[Problem]:
        """Pairs that the corpus does not know, rows outside their text."""
        queries = {query.id for query in corpus.queries}
        found = []
        for (query, document), place in self._pairs.items():
            position = corpus.position.get(document)
            where = f"{self.path.name}: query {query!r}, document {document!r}"
            if query not in queries:
                found.append(Problem(where, "no query of the corpus has this id"))
            elif position is None:
                found.append(Problem(where, "no document of the corpus has this id"))
            elif (last := int(self._columns["end"][place].max())) > len(corpus.documents[position].text):
                found.append(
                    Problem(
                        where,
                        f"a row ends at {last}, outside the text of {len(corpus.documents[position].text)} characters",
                    )
                )
        return found


def write(path: Path, pairs: Iterable[PairRows]) -> None:
    """Writes all pairs, in order, in one atomic file; a pair stands once and a pair without rows is left out."""

    def fill(beside: Path) -> None:
        seen: set[tuple[str, str]] = set()
        with pq.ParquetWriter(beside, _SCHEMA, compression="zstd") as writer:
            waiting, rows = [], 0
            for pair in pairs:
                if (pair.query, pair.document) in seen:
                    raise InputError(Problem(str(path), f"{pair.query!r}, {pair.document!r} is scored twice"))
                seen.add((pair.query, pair.document))
                if len(pair.starts):
                    waiting.append(_table(path, pair))
                    rows += len(waiting[-1])
                if rows >= 1_000_000:
                    writer.write_table(pa.concat_tables(waiting))
                    waiting, rows = [], 0
            if waiting:
                writer.write_table(pa.concat_tables(waiting))

    write_atomically(path, fill)


def read(path: Path) -> TeacherScores:
    """Checked scores; a file that somebody else wrote may hold its rows in any order, and spans repeatedly."""
    path = Path(path)
    check(path)
    table = _typed(path, pq.read_table(path, read_dictionary=["query", "document"]))
    columns = {name: table[name].to_numpy() for name in ("start", "end", "score")}
    _refuse(path, columns)
    if not _in_order(table, columns):
        table = _ordered(table, columns)
    return TeacherScores(path, table)


def check(path: Path) -> None:
    """Refuses what is no file of scores, by its columns alone: no row is read."""
    try:
        names = pq.read_schema(path).names
    except (OSError, pa.ArrowException) as error:
        raise InputError(Problem(str(path), f"is no readable parquet file: {str(error).splitlines()[0]}")) from None
    if missing := [name for name in ("query", "document", "start", "end", "score") if name not in names]:
        raise InputError(Problem(str(path), f"lacks the columns {', '.join(missing)}; it has {', '.join(names)}"))


def _typed(path: Path, table: pa.Table) -> pa.Table:
    columns = {}
    for name in ("query", "document", "start", "end", "score"):
        column = table[name].combine_chunks()
        try:
            if name in _NUMBERS:
                columns[name] = column.cast(pa.from_numpy_dtype(_NUMBERS[name]), safe=name != "score")
            else:
                columns[name] = column.cast(pa.dictionary(pa.int32(), pa.string()))
        except pa.ArrowException as error:
            raise InputError(Problem(f"{path}: column {name}", f"is {column.type}: {error}")) from None
        if column.null_count:
            raise InputError(Problem(f"{path}: column {name}", f"has {column.null_count} empty cells"))
    return pa.table(columns)


def _refuse(path: Path, columns: dict[str, np.ndarray]) -> None:
    start, end = columns["start"], columns["end"]
    wrong = (
        (~np.isfinite(columns["score"]), "the score is not a finite number"),
        ((start < 0) | (start >= end), "the span is empty, reversed or negative"),
    )
    problems = []
    for mask, message in wrong:
        rows = np.flatnonzero(mask)
        problems += [
            Problem(f"{path}: row {row}", f"{message}: [{start[row]}, {end[row]}] {columns['score'][row]}")
            for row in rows[:_SHOWN]
        ]
        if len(rows) > _SHOWN:
            problems.append(Problem(str(path), f"{message} in {len(rows) - _SHOWN} further rows"))
    if problems:
        raise InputError(problems)


def _table(path: Path, pair: PairRows) -> pa.Table:
    columns = {
        "start": np.asarray(pair.starts, np.int32),
        "end": np.asarray(pair.ends, np.int32),
        "score": np.asarray(pair.scores, np.float32),
    }
    _refuse(path, columns)
    spans, scores, inverse = _mean(columns["start"], columns["end"], np.asarray(pair.scores, np.float64))
    logits = None
    if pair.logits is not None:
        logits = pa.array(_group_mean(np.asarray(pair.logits, np.float64), inverse, len(spans)).astype(np.float32))
    rows = len(spans)
    return pa.table(
        {
            "query": [pair.query] * rows,
            "document": [pair.document] * rows,
            "start": spans[:, 0],
            "end": spans[:, 1],
            "score": scores.astype(np.float32),
            "logit": pa.nulls(rows, pa.float32()) if logits is None else logits,
        },
        schema=_SCHEMA,
    )


def _mean(start: np.ndarray, end: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct spans in reading order `[spans, 2]`, the mean score of each, and each row's span."""
    spans, inverse = np.unique(np.stack([start, end], axis=1), axis=0, return_inverse=True)
    return spans, _group_mean(score, inverse.reshape(-1), len(spans)), inverse.reshape(-1)


def _group_mean(values: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
    return np.bincount(group, values, groups) / np.bincount(group, minlength=groups)


def _codes(table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    return tuple(table[name].combine_chunks().indices.to_numpy() for name in ("query", "document"))


def _in_order(table: pa.Table, columns: dict[str, np.ndarray]) -> bool:
    """Each pair's rows stand together, in reading order, without repetition."""
    query, document = _codes(table)
    same = (query[1:] == query[:-1]) & (document[1:] == document[:-1])
    start, end = columns["start"], columns["end"]
    rising = (start[1:] > start[:-1]) | ((start[1:] == start[:-1]) & (end[1:] > end[:-1]))
    pairs = len(np.unique(np.stack([query, document], axis=1), axis=0))
    return bool((rising | ~same).all()) and pairs == len(query) - int(same.sum())


def _ordered(table: pa.Table, columns: dict[str, np.ndarray]) -> pa.Table:
    query, document = _codes(table)
    keys = np.stack([query, document, columns["start"], columns["end"]], axis=1)
    rows, inverse = np.unique(keys, axis=0, return_inverse=True)
    score = _group_mean(columns["score"].astype(np.float64), inverse.reshape(-1), len(rows))
    names = {name: table[name].combine_chunks().dictionary for name in ("query", "document")}
    return pa.table(
        {
            "query": pa.DictionaryArray.from_arrays(rows[:, 0], names["query"]),
            "document": pa.DictionaryArray.from_arrays(rows[:, 1], names["document"]),
            "start": rows[:, 2],
            "end": rows[:, 3],
            "score": score.astype(np.float32),
        }
    )


def _pair_ranges(table: pa.Table) -> dict[tuple[str, str], slice]:
    query, document = _codes(table)
    if not len(query):
        return {}
    first = np.flatnonzero(np.r_[True, (query[1:] != query[:-1]) | (document[1:] != document[:-1])])
    last = np.r_[first[1:], len(query)]
    queries, documents = (table[name].combine_chunks().dictionary.to_pylist() for name in ("query", "document"))
    return {
        (queries[query[start]], documents[document[start]]): slice(int(start), int(end))
        for start, end in zip(first, last, strict=True)
    }
