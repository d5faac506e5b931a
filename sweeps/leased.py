"""A lease held while a driver works: it beats from a thread, and a driver that lost it stops."""

from __future__ import annotations

import _thread
import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from sweeps.lease import BEAT, Lease, LeaseLost


@contextlib.contextmanager
def leased(folder: Path, clock: Callable[[], float]) -> Iterator[None]:
    """Holds the lease of the sweep in `folder`; raises LeaseHeld where another driver works on it."""
    lease = Lease.acquire(folder, uuid.uuid4().hex, clock())
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
