"""`stockpot stop`: a request in the sweep's folder that its driver looks for.

    ledger/stop.json    {host, time}; gone when the driver has ended

It reaches a driver on any machine that shares the folder. Trials under way go on to their next
checkpoint and report it; then, or at once where none runs, the driver ends as by SIGTERM: the
ledger is closed as interrupted, and --resume repeats nothing.
"""

from __future__ import annotations

import contextlib
import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from corpora.errors import StockpotError
from corpora.files import write_atomically
from corpora.processes import this_host
from sweeps.interruptible import is_interruptible
from sweeps.lease import Holder, living_driver

ASKED = "asked to stop"
POLL = 0.5  # seconds between two looks for a request


class Stop:
    """What the driver knows of a request. `asked`: there is one; `at_checkpoints` says who ends the driver then."""

    def __init__(self) -> None:
        self.asked = False
        self._patient = False

    @contextlib.contextmanager
    def at_checkpoints(self) -> Iterator[None]:
        """Within, a request only sets `asked`: whoever runs the trials ends the driver when each has its checkpoint.

        An exception ends the driver too: what it closes then is not interrupted.
        """
        self._patient = True
        yield
        self._patient = False

    @property
    def ends_now(self) -> bool:
        return self.asked and not self._patient


@contextlib.contextmanager
def stoppable(folder: Path, say: Callable[[str], None]) -> Iterator[Stop]:
    """Looks for a request while a driver works under `interruptible`; an older one is not for it."""
    path, stop, over = _path(folder), Stop(), threading.Event()
    path.unlink(missing_ok=True)

    def watch() -> None:
        while not over.wait(POLL):
            if not stop.asked and path.exists():
                stop.asked = True
                say("asked to stop: trials under way go on to their next checkpoint")
            if stop.ends_now and is_interruptible():
                # As if somebody had sent it: whatever the main thread waits for is interrupted.
                signal.pthread_kill(threading.main_thread().ident, signal.SIGTERM)
                return

    thread = threading.Thread(target=watch, name="stop", daemon=True)
    thread.start()
    try:
        yield stop
    finally:
        over.set()
        thread.join()
        path.unlink(missing_ok=True)


def request_stop(folder: Path, now: float) -> Holder:
    """Asks the sweep's driver to stop; raises StockpotError where none runs."""
    driver = living_driver(folder, now)
    if driver is None:
        raise StockpotError(f"{folder}: no driver is running: there is nothing to stop")
    write_atomically(_path(folder), json.dumps({"host": this_host(), "time": now}))
    return driver


def wait_until_gone(folder: Path, driver: Holder, clock: Callable[[], float] = time.time) -> None:
    """Returns when this driver has ended, or has died."""
    while (found := living_driver(folder, clock())) is not None and found.owner == driver.owner:
        time.sleep(POLL)


def _path(folder: Path) -> Path:
    return Path(folder) / "ledger" / "stop.json"
