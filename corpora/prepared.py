"""Prepared corpora: tokens and chunks, made once, memory-mapped by every reader (DESIGN section 1).

    ROOT/<hash of documents and tokenizer>/tokens/          ids, offsets, indptr, documents.json
                                          /chunks/sentence/ number, span, tokens, indptr
                                          /parts/           what an interrupted run left to go on from

Each folder appears whole or not at all; a further chunking reads the tokens that are there.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from corpora import arrays
from corpora.chunkings import Chunking
from corpora.chunks import ChunkTable, chunk_table
from corpora.documents import Corpus
from corpora.errors import InputError, Problem
from corpora.files import build_folder, write_atomically
from corpora.tokens import Encoding, Tokenizer

_LAYOUT = 1
"""Part of every address: raise it when the arrays change their meaning."""
_PART_CHARACTERS = 8_000_000
_WAITING = 8

Task = tuple[tuple[int, int], Callable[[], dict[str, np.ndarray]]]
"""A run of documents (first, last), and what works out its arrays."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """An opened prepared corpus: document i has the tokens indptr[i]:indptr[i + 1] of `ids` and `offsets`."""

    folder: Path
    document_ids: tuple[str, ...]
    ids: np.ndarray
    offsets: np.ndarray
    indptr: np.ndarray
    _tables: dict[str, ChunkTable] = field(default_factory=dict, repr=False)

    @classmethod
    def open(cls, folder: Path) -> Prepared:
        folder = Path(folder)
        flat, _ = arrays.open_arrays(folder / "tokens")
        names = json.loads((folder / "tokens" / "documents.json").read_text(encoding="utf-8"))
        return cls(folder, tuple(names), flat["ids"], flat["offsets"], np.array(flat["indptr"]))

    def __len__(self) -> int:
        return len(self.document_ids)

    def encodings(self, document: int) -> Encoding:
        """Token ids int32 `[tokens]` and offsets int32 `[tokens, 2]` of the document at this position: views."""
        owned = slice(int(self.indptr[document]), int(self.indptr[document + 1]))
        return self.ids[owned], self.offsets[owned]

    def table(self, chunking: Chunking | str) -> ChunkTable:
        """The chunks under a chunking that was prepared; opened once."""
        spelling = str(chunking)
        if spelling not in self._tables:
            self._tables[spelling] = self._open_table(spelling)
        return self._tables[spelling]

    def verify(self) -> list[Problem]:
        """Every file whose content is not what was written."""
        folders = [self.folder / "tokens", *sorted((self.folder / "chunks").glob("*"))]
        return [problem for folder in folders for problem in arrays.verify(folder)]

    def _open_table(self, spelling: str) -> ChunkTable:
        folder = _chunk_folder(self.folder, spelling)
        if not folder.is_dir():
            raise InputError(Problem(str(self.folder), f"the chunking `{spelling}` is not prepared here"))
        flat, manifest = arrays.open_arrays(folder)
        return ChunkTable(
            chunking=spelling,
            document_ids=self.document_ids,
            document=flat["document"],
            number=flat["number"],
            span=flat["span"],
            tokens=flat["tokens"],
            indptr=np.array(flat["indptr"]),
            context_only=manifest["context_only"],
        )


def prepare(
    corpus: Corpus,
    tokenizer: Tokenizer,
    chunkings: Iterable[Chunking | str],
    root: Path,
    executor: Executor | None = None,
) -> Prepared:
    """Builds what is missing under `root` and opens it.

    The address depends on documents and tokenizer alone: queries do not change it. `executor` runs the parts,
    in processes or elsewhere; all must see `root`.
    """
    texts_hash = replace(corpus, queries=()).sha256
    address = hashlib.sha256(f"{_LAYOUT} {texts_hash} {tokenizer.sha256}".encode()).hexdigest()[:12]
    folder = Path(root) / address
    facts = {"layout": _LAYOUT, "documents": texts_hash, "tokenizer": tokenizer.sha256}
    ranges = list(_ranges([len(document.text) for document in corpus.documents]))
    texts = [document.text for document in corpus.documents]
    named = {"documents.json": json.dumps([document.id for document in corpus.documents], ensure_ascii=False)}
    work = ((span, partial(_tokenise, tokenizer, texts[slice(*span)])) for span in ranges)
    _build(folder / "tokens", folder / "parts" / "tokens", work, executor, facts, named)
    for chunking in chunkings:
        chunking = Chunking.parse(chunking) if isinstance(chunking, str) else chunking
        place = _chunk_folder(folder, str(chunking))
        documents = ((span, replace(corpus, documents=corpus.documents[slice(*span)], queries=())) for span in ranges)
        work = ((span, partial(_cut, folder, part, chunking, span[0])) for span, part in documents)
        _build(place, folder / "parts" / place.name, work, executor, {**facts, "chunking": str(chunking)}, {})
    return Prepared.open(folder)


def _build(
    place: Path, parts: Path, work: Iterable[Task], executor: Executor | None, facts: dict, texts: dict[str, str],
) -> None:
    """Builds `place` from its parts, if it is not there. Another process may finish it meanwhile and sweep the parts."""
    if place.is_dir():
        return
    try:
        _merge(place, _finish_parts(parts, work, executor), facts, texts)
    except FileNotFoundError:
        if not place.is_dir():
            raise


def _chunk_folder(folder: Path, spelling: str) -> Path:
    return folder / "chunks" / spelling.replace(":", "-").replace("/", "-")


def _ranges(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Runs of documents of a few million characters each; one empty run for no documents."""
    first, characters = 0, 0
    for place, length in enumerate(lengths):
        characters += length
        if characters >= _PART_CHARACTERS:
            yield first, place + 1
            first, characters = place + 1, 0
    if first < len(lengths) or not lengths:
        yield first, len(lengths)


def _tokenise(tokenizer: Tokenizer, texts: Sequence[str]) -> dict[str, np.ndarray]:
    encodings = tokenizer.encode(texts)
    counts = np.array([len(ids) for ids, _ in encodings], np.int64)
    return {
        "ids": np.concatenate([np.empty(0, np.int32), *(ids for ids, _ in encodings)]),
        "offsets": np.concatenate([np.empty((0, 2), np.int32), *(offsets for _, offsets in encodings)]),
        "counts": counts,
        "context_only": np.int64(0),
    }


def _cut(folder: Path, part: Corpus, chunking: Chunking, first: int) -> dict[str, np.ndarray]:
    """The chunk table of the documents from position `first` on, over the tokens that lie in `folder`."""
    prepared = Prepared.open(folder)
    table = chunk_table(part, chunking, [prepared.encodings(first + place) for place in range(len(part.documents))])
    return {
        "document": table.document + np.int32(first),
        "number": table.number,
        "span": table.span,
        "tokens": table.tokens,
        "counts": np.diff(table.indptr),
        "context_only": np.int64(table.context_only),
    }


def _finish_parts(folder: Path, work: Iterable[Task], executor: Executor | None) -> list[Path]:
    """Runs all parts that are not there yet, few at a time, so that texts do not pile up on their way."""
    paths, running = [], deque()
    for (first, last), task in work:
        paths.append(folder / f"{first:08d}-{last:08d}.npz")
        if paths[-1].is_file():
            continue
        if executor is None:
            _write_part(paths[-1], task)
            continue
        if len(running) == _WAITING:
            running.popleft().result()
        running.append(executor.submit(_write_part, paths[-1], task))
    for future in running:
        future.result()
    return paths


def _write_part(path: Path, task: Callable[[], dict[str, np.ndarray]]) -> None:
    def save(beside: Path) -> None:
        with open(beside, "wb") as file:
            np.savez(file, **content)

    content = task()
    write_atomically(path, save)


def _merge(folder: Path, parts: list[Path], facts: dict, texts: dict[str, str]) -> None:
    """Concatenates the parts into `folder` and drops them."""

    def fill(beside: Path) -> None:
        for name, text in texts.items():
            (beside / name).write_text(text, encoding="utf-8")
        counts = np.concatenate([_array(path, "counts") for path in parts])
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        arrays.write_arrays(beside, itertools.chain([{"indptr": indptr}], map(_flat, parts)))
        arrays.seal(beside, {**facts, "context_only": sum(int(_array(path, "context_only")) for path in parts)})

    try:
        build_folder(folder, fill)
    except FileNotFoundError:
        # Another process merged the same parts first, and dropped them while this one read.
        if not folder.is_dir():
            raise
    shutil.rmtree(parts[0].parent, ignore_errors=True)


def _array(path: Path, name: str) -> np.ndarray:
    with np.load(path) as part:
        return part[name]


def _flat(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as part:
        return {name: part[name] for name in part if name not in ("counts", "context_only")}
