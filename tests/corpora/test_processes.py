"""Who lives on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from corpora.processes import is_alive


def test_a_process_lives_until_it_is_killed_even_if_nobody_waits_for_it():
    child = subprocess.Popen([sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"], stdout=subprocess.PIPE)
    child.stdout.readline()
    assert is_alive(child.pid) and is_alive(os.getpid())
    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead, and still to be waited for
    assert not is_alive(child.pid)
    child.wait()
    assert not is_alive(child.pid) and not is_alive(2**22 + 1) and not is_alive(2**70)
