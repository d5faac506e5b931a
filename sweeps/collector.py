"""Python's garbage collector, which runs in whatever thread happens to allocate, kept from running for a while."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_pauses = 0
_was_on = False


@contextmanager
def collector_paused() -> Iterator[None]:
    """Off until every thread that paused it has gone on; then as it was."""
    global _pauses, _was_on
    with _lock:
        _pauses += 1
        if _pauses == 1:
            _was_on = gc.isenabled()
            gc.disable()
    try:
        yield
    finally:
        with _lock:
            _pauses -= 1
            if _pauses == 0 and _was_on:
                gc.enable()
