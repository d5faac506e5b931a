"""The garbage collector's pauses: nested, of several threads, and around Ray's end."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from unittest.mock import patch

import pytest

from sweeps.collector import collector_paused
from sweeps.ray_cluster import ray_cluster
from tests.sweeps.test_conductor import config


@pytest.fixture(autouse=True)
def on():
    gc.enable()
    yield
    gc.enable()


def test_it_is_off_until_the_last_pause_ends():
    with pytest.raises(KeyError), collector_paused():
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled()
    gc.disable()
    with collector_paused():
        pass
    assert not gc.isenabled(), "as it was"


def test_a_thread_that_goes_on_does_not_end_the_pause_of_another():
    begun, over = threading.Event(), threading.Event()

    def other():
        with collector_paused():
            begun.set()
            over.wait(60)

    thread = threading.Thread(target=other)
    thread.start()
    begun.wait(60)
    with collector_paused():
        over.set()
        thread.join()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_nothing_of_rays_is_freed_by_another_thread_while_ray_ends(monkeypatch):
    """One reference that MLflow's thread freed then, in a collection of its own, took the whole driver with it."""

    class Reference:
        pass

    seen = {}
    monkeypatch.setattr("ray.init", lambda **_: None)
    monkeypatch.setattr("ray.shutdown", lambda: seen.update(collects=gc.isenabled(), held=alive()))
    with patch.dict(os.environ), ray_cluster(config("asynchronous")):
        one, other = Reference(), Reference()
        one.other, other.one = other, one
        alive = weakref.ref(one)
        del one, other
    assert seen == {"collects": False, "held": None} and gc.isenabled()
