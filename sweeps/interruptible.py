"""SIGTERM handled as Ctrl-C is."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """SIGTERM ends a sweep as Ctrl-C does: what is under way is left to --resume."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def is_interruptible() -> bool:
    """Whether SIGTERM is ours now: Ray puts its own handler over it for a while, which exits at once."""
    return signal.getsignal(signal.SIGTERM) is _interrupt


def _interrupt(*_: object) -> None:
    """Not by way of SIGINT: a shell's background jobs ignore that."""
    raise KeyboardInterrupt
