"""A tree of objects by URI (file, s3, gs, ...) through pyarrow.fs: a folder put there is whole or absent.

Object stores rename nothing, and an upload that breaks may leave part of an object. So a
folder counts only once its mark stands among its files: `_whole.json`, each file's size and
SHA-256, written last. What is read is checked against the mark. A store that is slow, throttles or
fails for a while is asked again, longer and longer apart; nothing else decides what is there.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import TypeVar
from urllib.parse import urlsplit

import tenacity
from pyarrow import ArrowInvalid, fs

from corpora.errors import InputError, Problem, StockpotError
from corpora.files import build_folder, sha256_of

MARK = "_whole.json"
ATTEMPTS = 8
"""With waits of 0.2 s that double: half a minute of outage is outlived."""
HOPELESS = ("ACCESS_DENIED", "InvalidAccessKeyId", "SignatureDoesNotMatch", "NoSuchBucket", "NO_SUCH_BUCKET")
"""Answers of a store that asking again does not change."""
SCHEMES = ("file", "s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")
"""What pyarrow opens."""
PIECE = 8 << 20  # bytes copied at once

Result = TypeVar("Result")


class Damaged(OSError):
    """What came is not what was put: a broken upload or a broken download."""


class Storage:
    """Everything under one URI. Names are relative, with `/` between their parts."""

    def __init__(self, uri: str):
        self.uri, self._fs, self._root = _opened(uri)

    def put_bytes(self, name: str, content: bytes) -> None:
        """One small object, in one request: whole or absent."""
        def put() -> None:
            self._make_parent(name)
            with self._fs.open_output_stream(self._path(name)) as stream:
                stream.write(content)

        self._tried(f"write {name}", put)

    def get_bytes(self, name: str) -> bytes | None:
        """The object's content; None where there is none."""
        def get() -> bytes | None:
            try:
                with self._fs.open_input_stream(self._path(name)) as stream:
                    return stream.read()
            except (FileNotFoundError, NotADirectoryError):
                return None

        return self._tried(f"read {name}", get)

    def remove(self, name: str) -> None:
        """One object; none is left."""
        def delete() -> None:
            with contextlib.suppress(FileNotFoundError):
                self._fs.delete_file(self._path(name))

        self._tried(f"remove {name}", delete)

    def put_folder(self, folder: Path, name: str) -> None:
        """Uploads `folder`, its mark last."""
        files = sorted(file for file in Path(folder).rglob("*") if file.is_file())
        about = {file.relative_to(folder).as_posix(): [file.stat().st_size, sha256_of(file)] for file in files}
        for file in files:
            self._upload(file, f"{name}/{file.relative_to(folder).as_posix()}")
        self.put_bytes(f"{name}/{MARK}", json.dumps(about, indent=1, ensure_ascii=False, sort_keys=True).encode())

    def has_folder(self, name: str) -> bool:
        return self.get_bytes(f"{name}/{MARK}") is not None

    def get_folder(self, name: str, folder: Path) -> bool:
        """Downloads a whole folder to `folder`, unless that exists. False where storage has none, or not all of it."""
        if Path(folder).exists():
            return True
        mark = self.get_bytes(f"{name}/{MARK}")
        if mark is None:
            return False
        about = _read_mark(mark, f"{self.uri}/{name}/{MARK}")

        def fill(beside: Path) -> None:
            for part, (size, sha256) in about.items():
                self._download(f"{name}/{part}", beside / part, size, sha256)

        build_folder(folder, fill)
        return True

    def names(self, under: str) -> list[str]:
        """Every object below `under`, in order, by its whole name."""
        def ask() -> list[str]:
            selector = fs.FileSelector(self._path(under), recursive=True, allow_not_found=True)
            return [info.path for info in self._fs.get_file_info(selector) if info.type == fs.FileType.File]

        root = PurePosixPath(self._root)
        return sorted(PurePosixPath(path).relative_to(root).as_posix() for path in self._tried(f"list {under or 'it'}", ask))

    def folders(self, under: str) -> list[str]:
        """Every whole folder below `under`, in order, by its whole name."""
        return [name.removesuffix(f"/{MARK}") for name in self.names(under) if name.endswith(f"/{MARK}")]

    def _upload(self, file: Path, name: str) -> None:
        def put() -> None:
            self._make_parent(name)
            with open(file, "rb") as source, self._fs.open_output_stream(self._path(name)) as stream:
                while piece := source.read(PIECE):
                    stream.write(piece)

        self._tried(f"write {name}", put)

    def _download(self, name: str, file: Path, size: int, sha256: str) -> None:
        def get() -> None:
            file.parent.mkdir(parents=True, exist_ok=True)
            digest, length = hashlib.sha256(), 0
            with self._fs.open_input_stream(self._path(name)) as stream, open(file, "wb") as target:
                while piece := stream.read(PIECE):
                    target.write(piece)
                    digest.update(piece)
                    length += len(piece)
            if (length, digest.hexdigest()) != (size, sha256):
                raise Damaged(f"{length} bytes came, {size} with SHA-256 {sha256[:12]}... were put")

        self._tried(f"read {name}", get)

    def _make_parent(self, name: str) -> None:
        """Folders exist on a file system only; an object store is spared the request."""
        if self._fs.type_name == "local":
            self._fs.create_dir(str(PurePosixPath(self._path(name)).parent), recursive=True)

    def _path(self, name: str) -> str:
        parts = PurePosixPath(name).parts
        if name.startswith("/") or ".." in parts:
            raise ValueError(f"{name!r} leaves the storage")
        return "/".join([self._root, *parts]) if self._root else "/".join(parts)

    def _tried(self, what: str, ask: Callable[[], Result]) -> Result:
        """Asks until it works; after ATTEMPTS the last error, with the URI and what was asked."""
        trying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(_may_pass),
            wait=tenacity.wait_exponential(multiplier=0.2, max=20),
            stop=tenacity.stop_after_attempt(ATTEMPTS),
            reraise=True,
        )
        try:
            return trying(ask)
        except OSError as error:
            raise StockpotError(f"{self.uri}: cannot {what}, asked {trying.statistics['attempt_number']} times: {error}") from None


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, OSError) and not any(word in str(error) for word in HOPELESS)


def check_uri(uri: str) -> str:
    """The URI, if it can be one of a storage; nothing is opened. Raises ValueError."""
    parts = urlsplit(uri)
    if "@" in parts.netloc or "secret" in parts.query.lower():
        raise ValueError("a storage's URI holds no keys: give them by the environment (AWS_ACCESS_KEY_ID, ...)")
    if not parts.scheme:
        raise ValueError(f"{uri!r} is no URI: file:///..., s3://BUCKET/..., gs://BUCKET/...")
    if parts.scheme in ("s3", "gs", "gcs") and not parts.netloc:
        raise ValueError(f"{uri!r} names no bucket: {parts.scheme}://BUCKET/...")
    if parts.scheme not in SCHEMES:
        raise ValueError(f"{parts.scheme}:// is no storage: {', '.join(f'{scheme}://' for scheme in SCHEMES)} are")
    return uri


def _opened(uri: str) -> tuple[str, fs.FileSystem, str]:
    """The URI as it may be shown, its file system, and the path in it."""
    try:
        system, root = fs.FileSystem.from_uri(check_uri(uri))
    except (ArrowInvalid, OSError, ValueError) as error:
        raise InputError(Problem("storage", f"cannot be opened: {error}")) from None
    return uri.partition("?")[0].rstrip("/"), system, root.rstrip("/")


def _read_mark(mark: bytes, where: str) -> dict[str, tuple[int, str]]:
    try:
        about = {str(name): (int(size), str(sha256)) for name, (size, sha256) in json.loads(mark).items()}
    except (ValueError, TypeError, AttributeError):
        raise StockpotError(f"{where}: not a mark of a whole folder") from None
    for name in about:
        if name.startswith("/") or ".." in PurePosixPath(name).parts:
            raise StockpotError(f"{where}: {name!r} would leave the folder")
    return about
