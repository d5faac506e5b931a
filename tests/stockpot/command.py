"""The console script, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys


def stockpot(*arguments: object, check: bool = True, **how) -> subprocess.CompletedProcess:
    """Runs `stockpot ARGUMENTS`; with `check`, a failure shows what it said."""
    command = [sys.executable, "-c", "from stockpot.cli import main; main()", *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": "200", "OMP_NUM_THREADS": "1", **how.pop("env", {})}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, **how)
    if check:
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done
