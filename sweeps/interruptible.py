"""SIGTERM handled as Ctrl-C is."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

SIGTERM = "SIGTERM"


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
        _terminated.clear()


@contextlib.contextmanager
def handlers_kept() -> Iterator[None]:
    """Around the start and the end of a library that puts a handler of its own over SIGTERM's, as Ray does: that one exits, in
    Python or with a stack on stderr in C++; and at its end none is left. What it raises meanwhile becomes an interruption, and
    afterwards ours is back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    except SystemExit:
        raise KeyboardInterrupt(SIGTERM) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def is_interruptible() -> bool:
    """Whether SIGTERM is ours now: Ray puts its own handler over it while it starts."""
    return signal.getsignal(signal.SIGTERM) is _interrupt


def reason_of(error: KeyboardInterrupt) -> str:
    """What interrupted: `SIGTERM`, or `Ctrl-C`, whose exception says nothing; nor does one that a library raised anew."""
    return str(error) or (SIGTERM if _terminated.is_set() else "Ctrl-C")


_terminated = threading.Event()
"""Whether SIGTERM came within `interruptible`."""


def _interrupt(*_: object) -> None:
    """Not by way of SIGINT: a shell's background jobs ignore that."""
    _terminated.set()
    raise KeyboardInterrupt(SIGTERM)
