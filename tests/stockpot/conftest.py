"""One finished tiny sweep, run once through the command line as a user would, and looked at by many tests."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from stockpot.cli import main
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


@pytest.fixture
def said(capsys, monkeypatch):
    """Runs `stockpot ARGUMENTS` in this process: (exit code, stdout, stderr on one line)."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["stockpot", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code or 0
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, " ".join(err.split())

    return run


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict:
        return json.loads(self.out)


@pytest.fixture
def corpus_command(capsys, monkeypatch):
    """Runs `stockpot corpus ...` in this process, through the console script's own `main`."""

    def run(*arguments: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["stockpot", "corpus", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return Said(ended.value.code, said.out, said.err)

    return run
