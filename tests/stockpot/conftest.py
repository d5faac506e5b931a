"""One finished tiny sweep, run once through the command line as a user would, and looked at by many tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "sweeps"))
from tiny_sweep import sweep_file  # noqa: E402


def stockpot(*arguments: object, check: bool = True, **how) -> subprocess.CompletedProcess:
    """Runs the console script's module in a process of its own."""
    command = [sys.executable, "-c", "from stockpot.cli import main; main()", *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": "200", "OMP_NUM_THREADS": "1", **how.pop("env", {})}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, **how)
    if check:
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="session")
def tiny_yaml(tmp_path_factory) -> Path:
    return sweep_file(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def finished(tiny_yaml, tmp_path_factory) -> dict:
    """What `stockpot sweep --json` printed of the tiny sweep."""
    out = tmp_path_factory.mktemp("sweeps") / "tiny"
    done = stockpot("sweep", tiny_yaml, "--out", out, "--json", timeout=900)
    told = json.loads(done.stdout)
    told["stderr"] = done.stderr
    return told
