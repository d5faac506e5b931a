"""A lease held while a driver works: it beats from a thread, and a driver that lost it stops."""

from __future__ import annotations

import _thread
import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from corpora.files import remove_leftovers
from sweeps.lease import BEAT, Lease, LeaseLost, holder_of, wait_for_sign


@contextlib.contextmanager
def leased(folder: Path, clock: Callable[[], float], say: Callable[[str], None] | None = None) -> Iterator[None]:
    """Holds the lease of the sweep in `folder`; raises LeaseHeld where another driver works on it. With `say`, one on another
    machine is given time to show that it lives. What killed drivers left half written goes."""
    if say:
        wait_for_sign(lambda: holder_of(folder), clock, say)
    lease = Lease.acquire(folder, uuid.uuid4().hex, clock())
    for place in (folder, *(folder / "store").glob("*/"), folder / "soup"):
        remove_leftovers(place)
    over = threading.Event()

    def beat() -> None:
        while not over.wait(BEAT):
            try:
                lease.beat(clock())
            except LeaseLost:
                _thread.interrupt_main()
                return

    thread = threading.Thread(target=beat, name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        lease.release()
