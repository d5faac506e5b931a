"""One driver a sweep: a lease file with a heartbeat.

A lease is stale when its process is dead on this very host, or when its heartbeat is more
than STALE seconds away from now in either direction (clocks jump both ways, and a living
driver beats in the new time at once); HUNG seconds where its process lives on this very host,
for a busy machine starves it long before it hangs. A stale lease is taken over; its former
owner, should it wake up, learns so at its next beat and must stop writing.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from corpora.errors import StockpotError
from corpora.files import write_atomically
from corpora.processes import is_alive, this_host

STALE = 60.0  # seconds without a beat
HUNG = 600.0  # the same of a process that is seen to live
BEAT = 10.0  # seconds between beats that a driver should keep


class LeaseHeld(StockpotError):
    """Another driver works on this sweep."""


class LeaseLost(StockpotError):
    """Another driver took this sweep over: this one must stop writing."""


@dataclass(frozen=True)
class Holder:
    owner: str  # drawn once per driver
    host: str
    pid: int
    heartbeat: float  # seconds since 1970

    def is_stale(self, host: str, now: float) -> bool:
        here = self.host == host
        return (here and not is_alive(self.pid)) or abs(now - self.heartbeat) > (HUNG if here else STALE)


@dataclass(frozen=True)
class Lease:
    path: Path
    holder: Holder

    @classmethod
    def acquire(cls, folder: Path, owner: str, now: float, host: str | None = None, pid: int | None = None) -> Lease:
        """Takes the lease of the sweep in `folder`, or raises LeaseHeld naming who holds it."""
        path = Path(folder) / "ledger" / "lease.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        lease = cls(path, Holder(owner, host or this_host(), os.getpid() if pid is None else pid, now))
        held = _read(path)
        if held is not None and held.is_stale(lease.holder.host, now):
            _set_aside(path, held, owner)
        # The whole file appears under its name in one step, and only if the name is free.
        beside = path.with_name(f".{path.name}.{owner}")
        write_atomically(beside, json.dumps(asdict(lease.holder)))
        try:
            os.link(beside, path)
        except FileExistsError:
            held = _read(path)
            who = (
                f"process {held.pid} on {held.host}, last seen {now - held.heartbeat:.0f} s ago" if held else "another"
            )
            raise LeaseHeld(f"{folder}: another driver works on this sweep ({who}); stop it, or wait") from None
        finally:
            beside.unlink()
        return lease

    def beat(self, now: float) -> None:
        """Says that the driver lives; to be called every BEAT seconds. Raises LeaseLost."""
        self.check()
        write_atomically(self.path, json.dumps({**asdict(self.holder), "heartbeat": now}))

    def check(self) -> None:
        held = _read(self.path)
        if held is None or held.owner != self.holder.owner:
            who = f"process {held.pid} on {held.host}" if held else "someone who removed the lease"
            raise LeaseLost(f"{self.path}: taken over by {who}")

    def release(self) -> None:
        held = _read(self.path)
        if held is not None and held.owner == self.holder.owner:
            self.path.unlink(missing_ok=True)


def holder_of(folder: Path) -> Holder | None:
    """Who holds the lease of the sweep in `folder`, stale or not."""
    return _read(Path(folder) / "ledger" / "lease.json")


def living_driver(folder: Path, now: float) -> Holder | None:
    """The driver that works on the sweep in `folder`; None where none does, or the one that did is gone."""
    held = holder_of(folder)
    return None if held is None or held.is_stale(this_host(), now) else held


def wait_for_sign(read: Callable[[], Holder | None], clock: Callable[[], float], say: Callable[[str], None],
                  sleep: Callable[[float], None] = time.sleep) -> None:  # fmt: skip
    """A driver on another machine may have died with it a moment ago: waits until its lease beats again, is given back or stale.

    Whoever starts a lost sweep again, Slurm or Kubernetes, does so at once and without a user who could wait.
    """
    held = read()
    if held is None or held.host == this_host() or held.is_stale(this_host(), clock()):
        return
    say(f"process {held.pid} on {held.host} works on this sweep, or did until it died: waiting up to {STALE:.0f} s for a sign of it")
    end = clock() + 2 * STALE  # more than a clock within the allowed skew can need
    while read() == held and not held.is_stale(this_host(), clock()) and clock() < end:
        sleep(1.0)


def _set_aside(path: Path, stale: Holder, owner: str) -> None:
    """Frees the name of a stale lease; of several drivers that try, one succeeds."""
    aside = path.with_name(f".{path.name}.stale.{owner}")
    with suppress(FileNotFoundError):
        os.rename(path, aside)
        taken = _read(aside)
        if taken is not None and taken.owner != stale.owner:  # a new driver's, taken by mistake: put it back
            with suppress(FileExistsError):
                os.link(aside, path)
        aside.unlink()


def _read(path: Path) -> Holder | None:
    try:
        held = Holder(**json.loads(path.read_text()))
        if not (isinstance(held.owner, str) and isinstance(held.host, str) and isinstance(held.pid, int) and isinstance(held.heartbeat, (int, float))):
            raise ValueError(f"owner and host are texts, pid and heartbeat numbers; found {held}")
        return held
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise StockpotError(f"{path}: not a lease file ({error}); remove it if no driver runs") from None
