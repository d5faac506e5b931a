"""JSON lines read strictly: every object with its line, every mistake with its line, all at once."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from corpora.errors import Problem

BOM = b"\xef\xbb\xbf"


class Strict(ValueError):
    """What the parser accepts by habit and a corpus must not hold. `found`: the number, as it is written."""

    def __init__(self, message: str, found: str = ""):
        super().__init__(message)
        self.found = found


def read_lines(path: Path, problems: list[Problem]) -> Iterator[tuple[int, dict]]:
    """(line number from 1, object) of each line that holds one; blank lines are passed over.

    Lines end with LF, CRLF or CR; a byte order mark is passed over; what cannot be read goes to `problems`.
    """
    if not path.is_file():
        problems.append(Problem(path.name, no_file(path)))
        return
    try:
        file = open(path, "rb")
    except OSError as error:
        problems.append(Problem(path.name, f"cannot be read: {error.strerror}"))
        return
    with file:
        message = unreadable(file.read(8))
        if message:
            problems.append(Problem(path.name, message))
            return
        file.seek(0)
        # JSON has no raw CR inside a string, so a CR inside a line ends one too.
        lines = (line for chunk in file for line in chunk.rstrip(b"\r\n").split(b"\r"))
        for number, line in enumerate(lines, start=1):
            line = line.removeprefix(BOM) if number == 1 else line
            if not line.strip():
                continue
            try:
                record = parse(line)
            except ValueError as error:
                problems.append(Problem(f"{path.name}:{number}", str(error)))
                continue
            if isinstance(record, dict):
                yield number, record
            else:
                problems.append(Problem(f"{path.name}:{number}", f"holds {kind(record)}: each line is one JSON object"))


def no_file(path: Path) -> str:
    """What stands where a file is wanted."""
    if path.is_symlink() and not path.exists():
        return f"is a link to {os.readlink(path)}, which is not there"
    if path.is_dir():
        return "is a folder: a file of that name is wanted"
    if path.exists():
        return "is a pipe, a socket or a device: a file of that name is wanted"
    return f"no such file in {path.parent}"


def unreadable(head: bytes) -> str | None:
    """Why a file that begins so is no UTF-8 text, or None."""
    if head.startswith((b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")):
        return "is compressed: decompress it"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "is UTF-16: save it as UTF-8"
    return None


def parse(content: bytes | str, finite: bool = True):
    """The JSON value of one line, or of a whole text; `ValueError` with a message for the user otherwise.

    Refuses what JSON does not define or define once: NaN, infinities, repeated keys, lone surrogates. finite: False lets
    NaN and infinities through, for a reader who tells whose they are.
    """
    try:
        text = content if isinstance(content, str) else content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"invalid UTF-8 at byte {error.start + 1} of the line: save the file as UTF-8") from None
    try:
        numbers = {"parse_constant": _refuse, "parse_float": _finite} if finite else {}
        record = json.loads(text, object_pairs_hook=_unique, **numbers)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        raise ValueError(f"broken JSON at {line}column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None
    except Strict as error:
        raise ValueError(f"{_line_of(error.found, text)}{error}") from None
    except ValueError:
        raise ValueError("holds a number of thousands of digits") from None
    if "\\u" in text:
        try:
            json.dumps(record, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("a \\u escape is half of a surrogate pair, which no UTF-8 text holds") from None
    return record


def _line_of(number: str, text: str) -> str:
    """`line 3: ` of the first such number outside of strings; nothing where the text is one line."""
    found = re.finditer(r'"(?:[^"\\]|\\.)*"|[^\s"\[\]{}:,]+', text) if number and "\n" in text.strip() else ()
    start = next((one.start() for one in found if one.group() == number), None)
    return "" if start is None else f"line {text.count(chr(10), 0, start) + 1}: "


def kind(value: object) -> str:
    """What a JSON value is, in words; short values are shown."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    name = names.get(type(value), "a number")
    parts = value if isinstance(value, list) else [value]
    if value is None or any(isinstance(part, dict | list) for part in parts[:3]) or len(parts) > 3:
        return name
    shown = json.dumps(value, ensure_ascii=True)
    return f"{name} ({shown})" if len(shown) <= 60 else name


def _unique(pairs: list[tuple[str, object]]) -> dict:
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        raise Strict(f"key {next(key for key in keys if keys.count(key) > 1)!r} stands twice in one object")
    return record


def _refuse(constant: str):
    raise Strict(f"holds {constant}, which is not JSON", constant)


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise Strict(f"holds {digits[:20]}, which no float can hold", digits)
    return number
