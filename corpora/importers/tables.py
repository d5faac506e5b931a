"""Rows from files of every common kind, and from the hub: JSON, JSONL, CSV, TSV, parquet, `datasets` folders."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from corpora.errors import InputError, Problem
from corpora.jsonl import BOM, parse, read_lines, unreadable

Row = tuple[str, dict]
"""Where the row stands, and its cells by column name."""

SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".arrow")
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+", re.ASCII)


def rows_of(path: Path) -> Iterator[Row]:
    """The rows of one file, or of every table in a folder, in the order of their names."""
    if path.is_dir():
        for file in table_files(path):
            yield from rows_of(file)
        return
    reader = {
        ".jsonl": _jsonl,
        ".json": _json,
        ".csv": _delimited,
        ".tsv": _delimited,
        ".parquet": _parquet,
        ".arrow": _arrow,
    }.get(path.suffix.lower())
    if reader is None:
        packed = path.suffix.lower() in PACKED
        told = f"is compressed: decompress it to one of {', '.join(SUFFIXES)}" if packed else f"is no table that can be read: {', '.join(SUFFIXES)}"
        raise InputError(Problem(str(path), told))
    yield from reader(path)


def table_files(folder: Path) -> list[Path]:
    """Tables in the folder or below it; what a `datasets` folder keeps beside them is left out."""
    return [
        inside(folder, path)
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in SUFFIXES
        and path.is_file()
        and path.name not in ("state.json", "dataset_info.json", "dataset_dict.json")
    ]


def inside(folder: Path, path: Path) -> Path:
    """The path, or an error when it is a link out of the folder: downloaded folders may hold such links."""
    if leads_out(folder, path):
        raise InputError(Problem(str(path), "is a link out of the folder: put the file itself there"))
    return path


def leads_out(folder: Path, path: Path) -> bool:
    # Not Path.resolve, which raises on a link to itself.
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def named_table(source: str, name: str) -> Iterator[Row]:
    """The rows of the table `name` in a folder (`name.jsonl`, `name/...parquet`, `.../name-0000.parquet`),
    or, where there is no such folder, of the hub's dataset `source` with the configuration `name`."""
    folder = Path(source)
    if folder.is_dir():
        files = [
            path
            for path in table_files(folder)
            if path.name.startswith((f"{name}.", f"{name}-")) or name in map(_stem, path.relative_to(folder).parts[:-1])
        ]
        if not files:
            raise InputError(
                Problem(source, f"holds no table `{name}`: {name}.parquet, {name}.jsonl or a folder {name}/")
            )
        for file in files:
            yield from rows_of(file)
        return
    if not _HUB_ID.fullmatch(source):
        raise InputError(Problem(source, "no such folder, and no hub id (owner/name)"))
    yield from _hub(source, name)


def json_file(path: Path) -> object:
    """The content of one JSON file, strictly."""
    text = text_of(path)
    try:
        return parse(text)
    except ValueError as error:
        raise InputError(Problem(str(path), str(error))) from None


def content_of(path: Path) -> bytes:
    """The bytes of a UTF-8 file without its byte order mark; an error for what is clearly none."""
    if not path.is_file():
        raise InputError(Problem(str(path), "no such file"))
    content = path.read_bytes()
    message = unreadable(content[:8])
    if message:
        raise InputError(Problem(str(path), message))
    return content.removeprefix(BOM)


def text_of(path: Path) -> str:
    try:
        return content_of(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(Problem(str(path), f"invalid UTF-8 at byte {error.start + 1}")) from None


def identifier(value: object) -> str:
    """An id as a string; numbers are common. A truth value or an object names nothing."""
    return str(value) if type(value) in (str, int, float) else ""


def _json(path: Path) -> Iterator[Row]:
    content = json_file(path)
    rows = content if isinstance(content, list) else [content]
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise InputError(Problem(f"{path.name}: [{number}]", "is no object: a table is a list of objects"))
        yield f"{path.name}: [{number}]", row


def _jsonl(path: Path) -> Iterator[Row]:
    problems: list[Problem] = []
    for number, row in read_lines(path, problems):
        yield f"{path.name}:{number}", row
    if problems:
        raise InputError(problems)


def _delimited(path: Path) -> Iterator[Row]:
    csv.field_size_limit(2**31 - 1)
    # Without newline translation: a field may hold line breaks of its own, which stay as they are.
    file = io.StringIO(text_of(path), newline="")
    reader = csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",", strict=True)
    line = 1
    try:
        header = next(reader, [])
        line = reader.line_num + 1
        for cells in reader:
            if len(cells) > len(header):
                raise InputError(Problem(f"{path.name}:{line}", f"has {len(cells)} cells for {len(header)} columns"))
            if cells:
                yield f"{path.name}:{line}", dict(zip(header, cells, strict=False))
            line = reader.line_num + 1
    except csv.Error as error:
        told = f'{error}; a cell that begins with " ends with one, and one inside it is written twice'
        raise InputError(Problem(f"{path.name}:{line}", f"broken table: {told}")) from None


def _parquet(path: Path) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        number = 0
        for batch in pq.ParquetFile(path).iter_batches():
            for row in batch.to_pylist():
                yield f"{path.name}: row {number}", row
                number += 1
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(Problem(str(path), f"is no readable parquet file: {_first_line(error)}")) from None


def _arrow(path: Path) -> Iterator[Row]:
    import pyarrow as pa

    try:
        with pa.memory_map(str(path)) as source:
            number = 0
            for batch in pa.ipc.open_stream(source):
                for row in batch.to_pylist():
                    yield f"{path.name}: row {number}", row
                    number += 1
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(Problem(str(path), f"is no readable Arrow stream: {_first_line(error)}")) from None


def _stem(part: str) -> str:
    """Of a folder's name: some tools write `documents.parquet/` with the parts of the table in it."""
    return Path(part).stem


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _hub(source: str, name: str) -> Iterator[Row]:
    try:
        from datasets import load_dataset
    except ImportError:
        raise InputError(
            Problem(source, "is no folder here; a hub id needs the `datasets` library: pip install datasets")
        ) from None
    try:
        splits = load_dataset(source, name)
    except Exception as error:  # the library raises whatever its transport raises
        raise InputError(Problem(source, f"cannot be loaded from the hub: {error}")) from None
    for split in splits:
        for number, row in enumerate(splits[split]):
            yield f"{source}/{name}/{split}: row {number}", json.loads(json.dumps(row, default=str))
