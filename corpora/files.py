"""Files that are either whole or absent: written beside, synced, renamed.

What is written beside bears its maker's mark, `.NAME.HOST-PID.random`, so that what a killed process left is told from
what a living one is at work on.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from corpora.errors import InputError, Problem
from corpora.processes import is_alive, this_host

_BESIDE = re.compile(r"\..+\.([0-9a-f]{8})-([0-9]+)\.[a-z0-9_]{8}")


def write_atomically(path: Path, content: bytes | str | Callable[[Path], None]) -> None:
    """Writes `path` so that no reader ever sees half of it, also after a power cut.

    `content` is the bytes, the text, or a function that writes the file it is given.
    """
    path = Path(path)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=beside_prefix(path))
        os.close(handle)
        _write_beside(Path(name), path, content)


def _write_beside(beside: Path, path: Path, content: bytes | str | Callable[[Path], None]) -> None:
    try:
        if callable(content):
            content(beside)
        else:
            beside.write_bytes(content.encode() if isinstance(content, str) else content)
        beside.chmod(0o644)
        _sync(beside)
        os.replace(beside, path)
        _sync(path.parent)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """A write that fails names the file or folder it was for: a full disk names none, and numpy not even itself."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno or errno.EIO, error.strerror or f"could not be written ({error}); is the disk full?", str(path)) from error


def new_folder(folder: Path) -> None:
    """Refuses a folder that `build_folder` could not make anew: asked before the work, not after it."""
    folder = Path(folder)
    if os.path.lexists(folder):
        raise InputError(Problem(str(folder), "exists already, and nothing is overwritten: name a new folder"))
    parent = next(place for place in folder.absolute().parents if os.path.lexists(place))
    if not parent.is_dir():
        raise InputError(Problem(str(folder), f"cannot be made: {parent} is no folder"))
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(Problem(str(folder), f"cannot be made: no permission to write in {parent}"))


def build_folder(folder: Path, fill: Callable[[Path], None]) -> Path:
    """Builds a folder beside and renames it into place; an existing one is kept as it is.

    Safe when two processes build the same one: the first rename wins, the other's is dropped.
    """
    folder = Path(folder)
    if folder.exists():
        return folder
    with writing(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        _build_beside(Path(tempfile.mkdtemp(dir=folder.parent, prefix=beside_prefix(folder))), folder, fill)
    return folder


def _build_beside(beside: Path, folder: Path, fill: Callable[[Path], None]) -> None:
    try:
        fill(beside)
        beside.chmod(0o755)
        for file in sorted(beside.rglob("*")):
            _sync(file)
        _sync(beside)
        try:
            os.rename(beside, folder)
        except OSError:
            if not folder.exists():
                raise
        _sync(folder.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


@contextmanager
def scratch_folder(folder: Path) -> Iterator[Path]:
    """A folder of another name beside `folder` for what is not kept: gone at the end."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=beside_prefix(folder)) as made:
        yield Path(made)


def beside_prefix(path: Path) -> str:
    """How the names begin of what this process writes beside `path`."""
    return f".{path.name}.{_host()}-{os.getpid()}."


def remove_leftovers(folder: Path) -> None:
    """Removes what processes of this host left half written in `folder` when they were killed; of another host nobody
    here knows whether it lives."""
    for path in Path(folder).glob(".*"):
        maker = _BESIDE.fullmatch(path.name)
        if maker and maker[1] == _host() and not is_alive(int(maker[2])):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


@cache
def _host() -> str:
    return hashlib.sha256(this_host().encode()).hexdigest()[:8]


def sha256_of(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
