"""`stockpot evaluate --out`: an earlier evaluation is there and whole until the new one is complete."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from stockpot import evaluation_folder
from tests.stockpot.command import stockpot
from tests.stockpot.test_odd_use import no_file_over

OWN = """
import os
import numpy as np
from evaluators.encoder import Encoded

class Mine:
    name, dimension, quantiser, contextual, tokenizer = "mine", 3, "none", True, None

    def queries(self, texts):
        return np.ones((len(texts), 3), np.float32)

    def documents(self, corpus, table):
        self.end()
        return Encoded(np.ones((len(table), 3), np.float32), 9, 9, len(table), len(table))

class Fails(Mine):
    def end(self):
        raise OSError(5, "Input/output error")

class Killed(Mine):
    def end(self):
        os.kill(os.getpid(), 9)
"""


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def done(said, golden, tmp_path) -> tuple[Path, dict[str, bytes]]:
    """An evaluation of two suites with a note of the user's beside it, and what the folder holds."""
    out = tmp_path / "out"
    assert said("evaluate", "bm25", "--corpus", golden, "--suite", "q2c,q2d", "--out", out)[0] == 0
    (out / "notes.txt").write_text("mine")
    (tmp_path / "ends.py").write_text(OWN)
    return out, content(out)


def test_a_failure_leaves_the_earlier_evaluation(said, golden, done, monkeypatch):
    out, before = done
    monkeypatch.chdir(out.parent)
    asked = ("--corpus", golden, "--suite", "q2c", "--overwrite", "--out")
    assert said("evaluate", "--encoder", "ends:Fails", *asked, out)[0] == 1
    assert said("evaluate", "bm25", *asked, out, "--suite", "q3c")[0] == 2
    with no_file_over(10_000):  # what is measured is written, its figures are not
        code, _, err = said("evaluate", "bm25", *asked, out)
    assert code == 1 and "file too large" in err
    assert content(out) == before and {path.name for path in out.iterdir()} == {name.split("/")[0] for name in before}
    assert said("evaluate", "--encoder", "ends:Fails", *asked, "new/folder")[0] == 1 and not Path("new").exists()


def test_a_killed_process_leaves_the_earlier_evaluation_and_the_next_one_clears_up(golden, done):
    out, before = done
    asked = ("--corpus", golden, "--suite", "q2c", "--out", out, "--overwrite")
    killed = stockpot("evaluate", "--encoder", "ends:Killed", *asked, check=False, cwd=out.parent)
    assert killed.returncode == -signal.SIGKILL
    assert {name: held for name, held in content(out).items() if not name.startswith(".")} == before
    stockpot("evaluate", "bm25", *asked)
    after = content(out)
    assert after["results.json"] != before["results.json"] and after["notes.txt"] == b"mine"
    assert not [path.name for path in out.iterdir() if path.name.startswith(".")]


def test_a_swap_that_fails_midway_is_taken_back(said, golden, done, monkeypatch):
    out, before = done
    rename = os.rename
    left = 0

    def failing(old, new):
        nonlocal left
        left -= 1
        if left == 0:
            raise OSError(28, "No space left on device", str(new))
        rename(old, new)

    monkeypatch.setattr(evaluation_folder.os, "rename", failing)
    for left in (1, 4, 9, 14):
        assert said("evaluate", "bm25", "--corpus", golden, "--suite", "q2c", "--out", out, "--overwrite")[0] == 1
        assert content(out) == before


def test_files_that_are_named_inside_the_folder(said, golden, done, monkeypatch):
    """As another spelling of it, too: they are part of the new evaluation, not of the earlier one."""
    out, before = done
    monkeypatch.chdir(out.parent)
    asked = ("evaluate", "bm25", "--corpus", golden, "--suite", "q2c", "--out", out, "--overwrite")
    assert said(*asked, "--runs", "out/runs", "--per-query", out / "more" / "q.parquet")[0] == 0
    after = content(out)
    assert "more/q.parquet" in after and "per-query.parquet" not in after and after["notes.txt"] == b"mine"
    assert [name for name in after if name.startswith("runs/")] == [name for name in before if name.startswith("runs/")]
