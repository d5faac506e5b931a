"""A request to stop, seen by a driver that is this process."""

from __future__ import annotations

import threading
import time

import pytest

from corpora.errors import StockpotError
from sweeps.interruptible import interruptible
from sweeps.lease import Lease
from sweeps.stopping import request_stop, stoppable, wait_until_gone


@pytest.fixture
def lease(tmp_path):
    return Lease.acquire(tmp_path, "driver", time.time())


def test_a_request_ends_whatever_the_driver_is_doing(tmp_path, lease):
    said = []
    with pytest.raises(KeyboardInterrupt), interruptible(), stoppable(tmp_path, said.append) as stop:
        request_stop(tmp_path, time.time())
        threading.Event().wait(60)  # woken by the request, not by the clock
    assert stop.asked and len(said) == 1 and "asked to stop" in said[0]
    assert not (tmp_path / "ledger" / "stop.json").exists()


def test_while_trials_run_the_request_is_only_told(tmp_path, lease):
    with pytest.raises(KeyboardInterrupt, match="held"), interruptible(), stoppable(tmp_path, lambda line: None) as stop:
        with stop.at_checkpoints():
            request_stop(tmp_path, time.time())
            _wait_for(lambda: stop.asked)
            raise KeyboardInterrupt("held")  # as the trials' loop does when each has its checkpoint
    with interruptible(), stoppable(tmp_path, lambda line: None) as stop, stop.at_checkpoints():
        assert not stop.asked, "an earlier driver's request is none of the next one's"


def test_a_request_that_came_with_the_last_trials_ends_what_follows(tmp_path, lease):
    with pytest.raises(KeyboardInterrupt), interruptible(), stoppable(tmp_path, lambda line: None) as stop:
        with stop.at_checkpoints():
            request_stop(tmp_path, time.time())
            _wait_for(lambda: stop.asked)
        threading.Event().wait(60)


def test_nobody_to_ask_is_said(tmp_path, lease):
    wait_until_gone(tmp_path, Lease.acquire(tmp_path / "other", "another", time.time()).holder)  # works elsewhere: gone here
    lease.release()
    with pytest.raises(StockpotError, match="no driver is running"):
        request_stop(tmp_path, time.time())
    Lease.acquire(tmp_path, "killed", time.time(), pid=2**22 + 1)
    with pytest.raises(StockpotError, match="no driver is running"):
        request_stop(tmp_path, time.time())


def _wait_for(condition) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)
