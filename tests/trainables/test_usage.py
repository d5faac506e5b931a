"""Processor time and peak memory of a stretch of work, not of the worker's whole life."""

from __future__ import annotations

import time

import numpy as np
import pytest

from trainables import usage
from trainables.usage import Usage


def test_the_peak_is_of_this_stretch_alone():
    if not usage._CLEAR.exists():
        pytest.skip("this system cannot forget an earlier peak")
    quiet = Usage().taken()["peak_memory_megabytes"]
    measured = Usage()
    held = np.ones(25_000_000)  # 200 MB, every page touched
    loud = measured.taken()["peak_memory_megabytes"]
    assert loud > quiet + 190
    del held
    assert Usage().taken()["peak_memory_megabytes"] < loud - 190


def test_work_is_told_from_waiting():
    waited = Usage()
    time.sleep(0.2)
    worked = Usage()
    until = time.process_time() + 0.2
    while time.process_time() < until:
        pass
    assert waited.taken()["cpu_utilization_percentage"] > 0
    busy = worked.taken()["cpu_utilization_percentage"]
    idle = Usage()
    time.sleep(0.2)
    assert idle.taken()["cpu_utilization_percentage"] < busy
