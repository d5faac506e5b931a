"""The truth of a sweep: immutable event files, folded into a state (DESIGN section 7).

    ledger/events/{writer}-{n:08d}.json     one object per write, numbered from 0 per writer
    ledger/segments/{writer}-{n:08d}.jsonl  SEGMENT event files in one, a copy for fast reading
    ledger/snapshot.json                    how the sweep stands, for `status` (sweeps/snapshot.py)

A write may carry several events. The driver is the single writer, under a lease
(sweeps/lease.py); each driver that opens the ledger for writing takes the next writer
number, so that no file name is ever used twice. Events fold in the order of writing.
Writing again what the ledger holds changes nothing; contradicting it is refused.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from corpora.errors import StockpotError
from corpora.files import write_atomically
from sweeps.collector import collector_paused
from sweeps.folding import UNFIT, Contradiction, fold
from sweeps.ledger_files import FORMAT, Event, EventFiles, no_sweep, writers
from sweeps.ledger_state import LedgerState
from sweeps.snapshot import EVERY, write_snapshot
from sweeps.standing import Standing

SEGMENT = 256  # event files copied into one
Look = TypeVar("Look")


class Ledger:
    """One sweep's ledger. `Ledger.create` and `Ledger.open(folder, write=True)` write; `Ledger.open(folder)` reads."""

    def __init__(self, folder: Path, writer: str | None):
        self.folder = Path(folder) / "ledger"
        self._writer = writer
        self._state = LedgerState()
        self._standing = Standing()  # the writer's, for snapshots
        self._files = EventFiles(self.folder)
        self._tail: list[bytes] = []  # own event files that no segment holds yet
        self._writing = threading.Lock()

    @classmethod
    def create(cls, folder: Path, sweep: Mapping[str, Any], now: float) -> Ledger:
        """A new ledger in the sweep's `folder`. `sweep`: sweep_id, name, config, attributes (see sweeps/folding.py)."""
        if writers(Path(folder) / "ledger"):
            raise StockpotError(f"{folder} holds a sweep already: resume it, or give another folder")
        ledger = cls(folder, "0000")
        ledger.append("sweep", sweep, now)
        return ledger

    @classmethod
    def open(cls, folder: Path, write: bool = False) -> Ledger:
        """An existing ledger; with `write`, for the driver that holds the lease."""
        found = writers(Path(folder) / "ledger")
        if not found:
            raise no_sweep(folder)
        ledger = cls(folder, f"{int(max(found)) + 1:04d}" if write else None)
        ledger._refresh()
        return ledger

    def state(self) -> LedgerState:
        """Everything known by now. Treat it as read-only: it is updated in place."""
        if self._writer is None:
            self._refresh()
        return self._state

    def glance(self, look: Callable[[LedgerState], Look]) -> Look:
        """What `look` takes from the state, for another thread than the writer's: copies of what it keeps."""
        with self._writing:
            return look(self.state())

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
        with self._writing:
            try:
                new = self._fold("", plain)
                if new:
                    self._write(new)
                    self._stand(new)
                    self._take_snapshot(closing=any(event["kind"] == "closed" for event in new))
            except BaseException:
                self._reload()  # the state never runs ahead of the files
                raise
        return bool(new)

    def _write(self, events: list[Event]) -> None:
        number = self._files.read.get(self._writer, 0)
        path = self._files.event_file(self._writer, number)
        if path.exists():
            raise StockpotError(f"{path} exists: another driver writes to this sweep")
        content = {"format": FORMAT, "writer": self._writer, "number": number, "events": events}
        line = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        write_atomically(path, line)
        self._files.read[self._writer] = number + 1
        self._tail.append(line)
        if len(self._tail) == SEGMENT:
            first = number + 1 - SEGMENT
            write_atomically(self._files.segment_file(self._writer, first), b"".join(self._tail))
            self._tail.clear()

    def _fold(self, where: str, events: Iterable[Event]) -> list[Event]:
        """Folds the events; returns those that were new. `where` names their file."""
        try:
            return [event for event in events if fold(self._state, event)]
        except Contradiction as error:
            raise StockpotError(f"{where}: {error}" if where else str(error)) from None
        except UNFIT as error:
            raise StockpotError(f"{where or 'ledger'}: an event lacks what its kind needs: {error!r}") from None

    def _stand(self, events: Iterable[Event]) -> None:
        if self._writer is not None:
            for event in events:
                self._standing.fold(event)

    def _take_snapshot(self, closing: bool) -> None:
        if closing or sum(self._files.read.values()) % EVERY == 0:
            with suppress(OSError):  # a full disk has been told by the event, or will be by the next
                write_snapshot(self.folder, self._standing, self._files.read)

    def _reload(self) -> None:
        self._state, self._standing = LedgerState(), Standing()
        self._files = EventFiles(self.folder)
        self._refresh()

    def _refresh(self) -> None:
        """Folds the event files that came since the last look."""
        with collector_paused():  # it walks all the new objects again and again: a third of the time
            for path, events in self._files.new():
                self._stand(self._fold(str(path), events))


def _plain(event: Event) -> Event:
    """The event as a reader will see it: plain JSON values, nothing shared with the caller."""
    try:
        return json.loads(json.dumps(event, allow_nan=False, default=_plainer))
    except ValueError:
        where = " ".join(f"{name} {event[name]}" for name in ("ordinal", "step") if name in event)
        raise StockpotError(f"{event['kind']} event ({where}): a number that is not finite") from None


def _plainer(value: Any) -> Any:
    """Named numbers as JSON knows them, and NumPy's scalars."""
    return dict(value) if isinstance(value, Mapping) else value.item()
