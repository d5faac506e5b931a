"""Vectors in arrays, for indexes that JSON is too large for:

    queries.npy   float32 or float64 [queries, dimension]
    queries.txt   the id of each row, one a line, white space and % percent-encoded as in TREC files
    chunks.npy    the same type [chunks, dimension]
    chunks.txt    `{document}#{index:06d}` of each row, document and index into its `chunks`, encoded alike

Arrays are memory-mapped. Rows in the corpus's order (documents as in documents.jsonl, chunks as listed there) are read
where they lie; rows in another order, or with others between them, are gathered into memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corpora.chunks import chunk_table, trec_id
from corpora.documents import Corpus
from corpora.errors import InputError, Problem

SHOWN = 20
"""Missing ids, and rows that are not finite or zeros, that are listed one by one; the rest is counted."""
NO_DIRECTION = "holds a vector of zeros, which has no direction: all cosines with it are alike"
BLOCK = 1 << 24
"""Numbers that are looked at together: a mapped array may be larger than memory."""


def read_arrays(folder: Path, corpus: Corpus) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of the corpus's queries `[queries, dimension]` and of its `given` chunks `[chunks, dimension]`."""
    problems: list[Problem] = []
    wanted = {"queries": [trec_id(query.id) for query in corpus.queries], "chunks": chunk_table(corpus, "given").ids()}
    found = [_rows(folder, name, ids, problems) for name, ids in wanted.items()]
    if not problems:
        queries, chunks = found
        if queries.shape[1] != chunks.shape[1] or queries.dtype != chunks.dtype:
            problems.append(Problem(str(folder), f"queries.npy is {queries.dtype} of {queries.shape[1]} numbers a row, "
                                    f"chunks.npy {chunks.dtype} of {chunks.shape[1]}: both must be alike"))
    if problems:
        raise InputError(problems)
    return found[0], found[1]


def _read(path: Path, read: Callable[[], Any], otherwise: str, problems: list[Problem]) -> Any | None:
    try:
        return read()
    except OSError as error:
        problems.append(Problem(str(path), f"cannot be read: {error.strerror or error}"))
    except ValueError as error:
        problems.append(Problem(str(path), f"is {otherwise}: {error}"))
    return None


def _mapped(path: Path) -> np.ndarray:
    with open(path, "rb") as file:
        if file.read(4) == b"PK\x03\x04":
            raise ValueError("it is an archive of arrays (.npz): write the one array by numpy.save")
    return np.lib.format.open_memmap(path, mode="r")


def _rows(folder: Path, name: str, wanted: Sequence[str], problems: list[Problem]) -> np.ndarray | None:
    """The rows of the ids wanted, in their order; what is wrong goes to `problems`."""
    path, beside = folder / f"{name}.npy", folder / f"{name}.txt"
    rows = _read(path, lambda: _mapped(path), "no whole .npy file of numbers", problems)
    ids = _read(beside, lambda: beside.read_text(encoding="utf-8").splitlines(), "not UTF-8", problems)
    if rows is None or ids is None:
        return None
    if rows.ndim != 2 or rows.dtype not in (np.float32, np.float64):
        problems.append(Problem(str(path), f"is {rows.dtype} {list(rows.shape)}: expected float32 or float64 "
                                           "[rows, dimension]"))
        return None
    if len(ids) != len(rows):
        problems.append(Problem(str(beside), f"names {len(ids)} rows, {path.name} has {len(rows)}"))
        return None
    if not rows.shape[1]:
        problems.append(Problem(str(path), "holds vectors of no numbers"))
        return None
    if ids == list(wanted):
        return rows if _all_point(path, rows, range(len(ids)), ids, problems) else None
    place = {each: row for row, each in enumerate(ids)}
    if len(place) < len(ids):
        twice = next(each for row, each in enumerate(ids) if place[each] != row)
        problems.append(Problem(f"{beside}:{place[twice] + 1}", f"names {twice!r} again: an id has one row"))
        return None
    missing = [each for each in wanted if each not in place]
    problems += [Problem(str(beside), f"lacks {each!r}") for each in missing[:SHOWN]]
    if len(missing) > SHOWN:
        problems.append(Problem(str(beside), f"lacks {len(missing) - SHOWN} more"))
    if missing:
        return None
    places = [place[each] for each in wanted]
    gathered = rows[places]
    return gathered if _all_point(path, gathered, places, wanted, problems) else None


def _all_point(path: Path, rows: np.ndarray, places: Sequence[int], ids: Sequence[str], problems: list[Problem]) -> bool:
    """Whether each row is finite and has a direction. places: which row of the file each one is, counted from 0."""
    step = max(1, BLOCK // rows.shape[1])
    wrong: list[tuple[int, str]] = []
    for start in range(0, len(rows), step):
        block = rows[start:start + step]
        finite, some = np.isfinite(block).all(axis=1), block.any(axis=1)
        wrong += [(start + row, NO_DIRECTION if finite[row] else "holds numbers that are not finite")
                  for row in np.flatnonzero(~(finite & some)).tolist()]
    problems += [Problem(f"{path}: row {places[row]} ({ids[row]})", why) for row, why in wrong[:SHOWN]]
    if len(wrong) > SHOWN:
        problems.append(Problem(str(path), f"holds {len(wrong) - SHOWN} more rows like these"))
    return not wrong
