"""SIGTERM interrupts, whoever takes its handler over, and says so."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from sweeps.interruptible import handlers_kept, interruptible, is_interruptible, reason_of


def test_an_interruption_that_a_library_raised_anew_keeps_its_reason():
    with interruptible():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.sigtimedwait([], 1)
        except KeyboardInterrupt:
            assert reason_of(KeyboardInterrupt()) == "SIGTERM"
    assert reason_of(KeyboardInterrupt()) == "Ctrl-C"


def test_sigterm_is_an_interruption_with_its_name():
    with pytest.raises(KeyboardInterrupt) as interrupted, interruptible():
        os.kill(os.getpid(), signal.SIGTERM)
        signal.sigtimedwait([], 1)
    assert reason_of(interrupted.value) == "SIGTERM" and reason_of(KeyboardInterrupt()) == "Ctrl-C"
    assert not is_interruptible()


def test_a_library_that_puts_its_own_handler_over_ours():
    """As Ray does while it starts: the process would exit with the signal's number."""
    with interruptible():
        with pytest.raises(KeyboardInterrupt, match="SIGTERM"), handlers_kept():
            signal.signal(signal.SIGTERM, lambda number, _: sys.exit(number))
            os.kill(os.getpid(), signal.SIGTERM)
            signal.sigtimedwait([], 1)
        assert is_interruptible(), "ours is back"
        with handlers_kept():
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        assert is_interruptible()
