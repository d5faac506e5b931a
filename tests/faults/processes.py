"""The processes of one sweep, told from all others by a folder that is its own.

Its Ray keeps its files there (RAY_TMPDIR): the folder stands in command lines and environments, and where Ray's workers
have overwritten both with a title, they still hold log files in it open.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 600.0  # seconds: nothing here takes a tenth of it on a quiet machine

IDLE = ("ray::IDLE", "ray::DashboardAgent", "ray::RuntimeEnvAgent")
"""Titles of Ray's processes that do nothing for the sweep."""


def processes_of(mark: str) -> dict[int, str]:
    """pid -> command line or title of each living process that belongs to the folder `mark`."""
    found = {}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        place = Path("/proc") / str(pid)
        try:
            line = place.joinpath("cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            if line and _holds(place, line, mark) and pid != os.getpid():
                found[pid] = line
        except OSError:  # it ended while we looked
            continue
    return found


def _holds(place: Path, line: str, mark: str) -> bool:
    if mark in line or mark.encode() in place.joinpath("environ").read_bytes():
        return True
    return any(_link(file).startswith(mark) for file in place.joinpath("fd").iterdir())


def _link(file: Path) -> str:
    try:
        return os.readlink(file)
    except OSError:
        return ""


def workers_of(mark: str) -> list[int]:
    """Ray's workers that train or evaluate."""
    return sorted(pid for pid, title in processes_of(mark).items() if title.startswith("ray::") and not title.startswith(IDLE))


def raylet_of(mark: str) -> int:
    """Of a node that may only just be starting."""
    found: list[int] = []
    wait_for(lambda: found.extend(pid for pid, line in processes_of(mark).items() if "/raylet/raylet " in line) or found, f"a raylet of {mark}")
    (pid,) = found
    return pid


def wait_for(condition: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s: {what}"
        time.sleep(0.05)
