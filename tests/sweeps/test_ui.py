"""The UI's server ends with its parent, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

PARENT = """
import signal, subprocess, sys, time
from pathlib import Path
from unittest import mock
from sweeps.ui import Server

# A stand-in that starts as fast as Python does and, like mlflow, is the parent of the process that serves.
stands_in = [sys.executable, "-c", "import subprocess, sys, time; "
             "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); "
             "print(child.pid, flush=True); time.sleep(600)"]
real = subprocess.Popen
def popen(command, **how):
    is_server = "mlflow" in command
    return real(stands_in if is_server else command, **{**how, **({"stdout": subprocess.PIPE} if is_server else {})})
with mock.patch.object(subprocess, "Popen", popen), Server("sqlite://", Path("."), "127.0.0.1", 0) as server:
    print(server.process.pid, int(server.process.stdout.readline()), flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("ends", ["kill -9", "leaving the block"])
def test_no_server_outlives_its_parent(ends):
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 2 and all(map(_lives, pids))
    if ends == "kill -9":
        parent.send_signal(signal.SIGKILL)
    else:
        parent.stdin.close()
    parent.wait(timeout=60)
    deadline = time.monotonic() + 60
    while any(map(_lives, pids)):
        assert time.monotonic() < deadline, f"still there: {[pid for pid in pids if _lives(pid)]}"
        time.sleep(0.05)


def _lives(pid: int) -> bool:
    """A zombie that nobody has waited for yet is dead."""
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
