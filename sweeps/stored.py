"""A sweep's folder kept in storage while the sweep runs, and brought back where it is missing (DESIGN section 7).

`storage:` in the YAML names a URI. A thread of the driver follows the ledger's event files and
keeps each after everything that it names: what storage holds is always a sweep that `--resume` can go on with,
at most some seconds behind. An outage delays it, and stops nothing. One driver a sweep: a lease object
with a heartbeat stands in storage too, for drivers on machines that share no disk.
"""

from __future__ import annotations

import _thread
import contextlib
import json
import os
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from corpora.errors import InputError, Problem, StockpotError
from corpora.mirror import Mirror
from corpora.processes import this_host
from corpora.storage import Storage
from sweeps.evaluations import SCORES
from sweeps.lease import BEAT, STALE, Holder, LeaseHeld, wait_for_sign
from sweeps.preparation import CORPORA

LEASE = "lease.json"
BESIDE = (".json", ".npz")
"""What lies beside a parquet of per-query values: its figures, and a soup's similarities."""

Say = Callable[[str], None]


@contextlib.contextmanager
def stored(folder: Path, uri: str | None, resume: bool, clock: Callable[[], float], say: Say) -> Iterator[Mirror | None]:
    """Holds storage's lease, restores what is missing, keeps what comes; None without a `uri`."""
    if uri is None:
        yield None
        return
    mirror = Mirror(folder, uri)
    if resume:
        wait_for_sign(lambda: _holder(mirror.storage), clock, say)
    lease = _Lease.taken(mirror, clock())
    try:
        _restore(mirror, resume, say)
        keeper = _Keeper(mirror, lease, clock, say)
        keeper.start()
        try:
            yield mirror
        finally:
            keeper.close()
    finally:
        lease.give_back()


def _restore(mirror: Mirror, resume: bool, say: Say) -> None:
    """Brings here the sweep that storage holds, where this machine has none of it, or one that was taken on elsewhere since."""
    ledger = mirror.root / "ledger"
    events = mirror.storage.names("ledger/events")
    here = _latest_writer(path.name for path in (ledger / "events").glob("[0-9]*.json"))
    if here >= _latest_writer(Path(name).name for name in events):
        return  # what this machine wrote last: storage has it, but for the last seconds
    if not resume:
        raise InputError(Problem("storage", f"{mirror.storage.uri} holds a sweep already: go on with it by --resume, or name another URI"))
    if here:
        say(f"another machine took the sweep on: what this one knew of it lies in {ledger / f'until-{here}'}")
        for name in ("events", "segments", "snapshot.json"):
            if (ledger / name).exists():
                (ledger / f"until-{here}").mkdir(exist_ok=True)
                (ledger / name).rename(ledger / f"until-{here}" / name)
    say(f"bringing the sweep from {mirror.storage.uri}")
    for pattern in ("sweep.json", "warm-start.json", f"{CORPORA}/*", "store/*/*", f"{SCORES}/*", "trials/*/reports/*"):
        mirror.have_files(pattern)
    for under in (CORPORA, "store", "trials", "soup"):
        mirror.have_folders(under)
    mirror.have_files("ledger/events/*.json")  # last: a sweep is here once its ledger is


def _latest_writer(files: Iterable[str]) -> str:
    """Of event files, `0001-00000000.json`; empty where there are none. Each driver takes the next number."""
    return max((name.partition("-")[0] for name in files), default="")


class _Keeper(threading.Thread):
    """Follows the ledger into storage."""

    def __init__(self, mirror: Mirror, lease: _Lease, clock: Callable[[], float], say: Say):
        super().__init__(name="storage", daemon=True)
        self._mirror, self._lease, self._clock, self._say = mirror, lease, clock, say
        self._kept = set(mirror.storage.names("ledger/events"))
        self._over = threading.Event()
        self._beaten = clock()
        self._failed = ""

    def run(self) -> None:
        while not self._over.wait(1.0):
            self._turn()

    def close(self) -> None:
        """Keeps what is left; says so where storage does not answer."""
        self._over.set()
        self.join()
        self._turn()
        if self._failed:
            self._say(f"storage lacks the sweep's last events ({self._failed}): run the command again with --resume")

    def _turn(self) -> None:
        try:
            if self._clock() - self._beaten > BEAT:
                if not self._lease.is_held():
                    _thread.interrupt_main()
                    return
                self._lease.beat(self._clock())
                self._beaten = self._clock()
            self._keep_events()
            self._failed = ""
        except (StockpotError, OSError) as error:
            if not self._failed:
                self._say(f"storage does not answer ({error}); the sweep goes on, and tries again")
            self._failed = str(error)

    def _keep_events(self) -> None:
        root = self._mirror.root
        for path in sorted((root / "ledger" / "events").glob("[0-9]*.json")):
            name = path.relative_to(root).as_posix()
            if name in self._kept:
                continue
            events = json.loads(path.read_text())["events"]
            places = dict.fromkeys(place for event in events for place in _named(event, root))
            self._mirror.keep(place for place in places if place.exists())
            self._mirror.keep([path])
            self._kept.add(name)


def _named(event: dict[str, Any], root: Path) -> Iterator[Path]:
    """Files and folders of the sweep that an event speaks of."""
    if event["kind"] == "sweep":
        yield root / "sweep.json"
        yield root / "warm-start.json"
    if event["kind"] == "checkpoint":
        yield (root / event["folder"]).parent / "reports" / f"step-{event['step']:06d}.json"
    yield from _places(event, root)


def _places(value: Any, root: Path) -> Iterator[Path]:
    if isinstance(value, list):
        for inner in value:
            yield from _places(inner, root)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key == "per_query" and isinstance(inner, str):
                yield root / inner
                yield from ((root / inner).with_suffix(suffix) for suffix in BESIDE)
            elif key == "folder" and isinstance(inner, str):
                yield root / inner
            else:
                yield from _places(inner, root)


@dataclass(frozen=True)
class _Lease:
    """The lease object: sweeps/lease.py's rules, without its atomic steps, which object stores lack."""

    storage: Storage
    holder: Holder

    @classmethod
    def taken(cls, mirror: Mirror, now: float) -> _Lease:
        lease = cls(mirror.storage, Holder(uuid.uuid4().hex, this_host(), os.getpid(), now))
        held = _holder(lease.storage)
        if held and not held.is_stale(lease.holder.host, now):
            raise LeaseHeld(
                f"{mirror.storage.uri}: another driver works on this sweep (process {held.pid} on {held.host}, last seen "
                f"{now - held.heartbeat:.0f} s ago); stop it, or wait {STALE:.0f} s after its end"
            )
        lease.beat(now)
        if not lease.is_held():
            raise LeaseHeld(f"{mirror.storage.uri}: another driver takes this sweep at this very moment; wait")
        return lease

    def beat(self, now: float) -> None:
        self.storage.put_bytes(LEASE, json.dumps({**asdict(self.holder), "heartbeat": now}).encode())

    def is_held(self) -> bool:
        held = _holder(self.storage)
        return held is not None and held.owner == self.holder.owner

    def give_back(self) -> None:
        """A storage that does not answer keeps a lease that goes stale."""
        with contextlib.suppress(StockpotError):
            if self.is_held():
                self.storage.put_bytes(LEASE, b"{}")


def _holder(storage: Storage) -> Holder | None:
    content = json.loads(storage.get_bytes(LEASE) or b"{}")
    return Holder(**content) if content else None
