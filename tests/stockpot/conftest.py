"""One finished tiny sweep, run once through the command line as a user would, and looked at by many tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.stockpot.command import stockpot
from tests.sweeps.tiny_sweep import sweep_file


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
