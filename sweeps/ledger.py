"""The truth of a sweep: immutable event files, folded into a state (DESIGN section 7).

    ledger/events/{writer}-{n:08d}.json     one object per write, numbered from 0 per writer
    ledger/segments/{writer}-{n:08d}.jsonl  SEGMENT event files in one, a copy for fast reading

A write may carry several events. The driver is the single writer, under a lease
(sweeps/lease.py); each driver that opens the ledger for writing takes the next writer
number, so that no file name is ever used twice. Events fold in the order of writing.
Writing again what the ledger holds changes nothing; contradicting it is refused.
"""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from corpora.errors import StockpotError
from corpora.files import write_atomically
from sweeps.ledger_state import Contradiction, LedgerState, fold

FORMAT = 1
SEGMENT = 256  # event files copied into one
Event = Mapping[str, Any]


class Ledger:
    """One sweep's ledger. `Ledger.create` and `Ledger.open(folder, write=True)` write; `Ledger.open(folder)` reads."""

    def __init__(self, folder: Path, writer: str | None):
        self.folder = Path(folder) / "ledger"
        self._writer = writer
        self._state = LedgerState()
        self._read: dict[str, int] = {}  # writer -> number of its event files folded
        self._tail: list[bytes] = []  # own event files that no segment holds yet

    @classmethod
    def create(cls, folder: Path, sweep: Mapping[str, Any], now: float) -> Ledger:
        """A new ledger in the sweep's `folder`. `sweep`: sweep_id, name, config, attributes (see ledger_state)."""
        if _writers(Path(folder) / "ledger"):
            raise StockpotError(f"{folder} holds a sweep already: resume it, or give another folder")
        ledger = cls(folder, "0000")
        ledger.append("sweep", sweep, now)
        return ledger

    @classmethod
    def open(cls, folder: Path, write: bool = False) -> Ledger:
        """An existing ledger; with `write`, for the driver that holds the lease."""
        writers = _writers(Path(folder) / "ledger")
        if not writers:
            raise StockpotError(f"{folder} holds no sweep: it has no ledger/events")
        ledger = cls(folder, f"{int(max(writers)) + 1:04d}" if write else None)
        ledger._refresh()
        return ledger

    def state(self) -> LedgerState:
        """Everything known by now. Treat it as read-only: it is updated in place."""
        if self._writer is None:
            self._refresh()
        return self._state

    def append(self, kind: str, payload: Mapping[str, Any], now: float) -> bool:
        """Writes one event; see `append_all`."""
        return self.append_all([(kind, payload)], now)

    def append_all(self, events: Iterable[tuple[str, Mapping[str, Any]]], now: float) -> bool:
        """Writes events in one object, on disk when this returns. False when the ledger held all of them.

        `now`: seconds since 1970. Raises StockpotError for an event that contradicts the
        ledger or holds a number that is not finite; nothing is written then.
        """
        if self._writer is None:
            raise StockpotError("this ledger was opened for reading")
        plain = [_plain({"kind": kind, **payload, "time": now}) for kind, payload in events]
        try:
            new = self._fold("", plain)
            if new:
                self._write(new)
        except BaseException:
            self._reload()  # the state never runs ahead of the files
            raise
        return bool(new)

    def _write(self, events: list[Event]) -> None:
        number = self._read.get(self._writer, 0)
        path = self.folder / "events" / f"{self._writer}-{number:08d}.json"
        if path.exists():
            raise StockpotError(f"{path} exists: another driver writes to this sweep")
        content = {"format": FORMAT, "writer": self._writer, "number": number, "events": events}
        line = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        write_atomically(path, line)
        self._read[self._writer] = number + 1
        self._tail.append(line)
        if len(self._tail) == SEGMENT:
            first = number + 1 - SEGMENT
            write_atomically(self.folder / "segments" / f"{self._writer}-{first:08d}.jsonl", b"".join(self._tail))
            self._tail.clear()

    def _fold(self, where: str, events: Iterable[Event]) -> list[Event]:
        """Folds the events; returns those that were new. `where` names their file."""
        try:
            return [event for event in events if fold(self._state, event)]
        except Contradiction as error:
            raise StockpotError(f"{where}: {error}" if where else str(error)) from None
        except (KeyError, TypeError, AttributeError) as error:
            raise StockpotError(f"{where or 'ledger'}: an event lacks what its kind needs: {error!r}") from None

    def _reload(self) -> None:
        self._state = LedgerState()
        self._read.clear()
        self._refresh()

    def _refresh(self) -> None:
        """Folds the event files that came since the last look, writer by writer."""
        with _collector_paused():
            for writer, numbers in sorted(_writers(self.folder).items()):
                done = self._read.get(writer, 0)
                for path, content in self._contents(writer, done, numbers):
                    if (content.get("format"), content.get("writer"), content.get("number")) != (FORMAT, writer, done):
                        raise StockpotError(f"{path}: expected event file {done} of writer {writer}, format {FORMAT}")
                    self._fold(str(path), content["events"])
                    done += 1
                self._read[writer] = done

    def _contents(self, writer: str, done: int, numbers: list[int]) -> Iterator[tuple[Path, dict[str, Any]]]:
        segments = {int(p.stem.rpartition("-")[2]): p for p in (self.folder / "segments").glob(f"{writer}-*.jsonl")}
        end = max(numbers) + 1
        while done < end:
            segment = segments.get(done)
            paths = [segment] if segment else [self.folder / "events" / f"{writer}-{done:08d}.json"]
            for path in paths:
                contents = _parse(path)
                yield from ((path, content) for content in contents)
                done += len(contents)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Without the garbage collector, which walks all the new objects again and again (a third of the time)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _parse(path: Path) -> list[dict[str, Any]]:
    try:
        contents = json.loads(b"[" + path.read_bytes().strip().replace(b"\n", b",") + b"]")
    except FileNotFoundError:
        raise StockpotError(f"{path}: this event file is missing, though later ones exist") from None
    except ValueError as error:
        raise StockpotError(f"{path}: not a readable event file: {error}") from None
    if not contents or not all(
        isinstance(content, dict) and isinstance(content.get("events"), list) for content in contents
    ):
        raise StockpotError(f"{path}: not an event file")
    return contents


def _writers(folder: Path) -> dict[str, list[int]]:
    """The numbers of each writer's event files."""
    found: dict[str, list[int]] = {}
    for name in os.listdir(folder / "events") if (folder / "events").is_dir() else ():
        if name.endswith(".json") and not name.startswith("."):  # dots: files being written
            writer, _, number = name[:-5].partition("-")
            if not (writer.isdigit() and number.isdigit()):
                raise StockpotError(f"{folder / 'events' / name}: not the name of an event file")
            found.setdefault(writer, []).append(int(number))
    return found


def _plain(event: Event) -> Event:
    """The event as a reader will see it: plain JSON values, nothing shared with the caller."""
    try:
        return json.loads(json.dumps(event, allow_nan=False, default=lambda value: value.item()))
    except ValueError:
        where = " ".join(f"{name} {event[name]}" for name in ("ordinal", "step") if name in event)
        raise StockpotError(f"{event['kind']} event ({where}): a number that is not finite") from None
