"""`stockpot report` as a user runs it."""

from __future__ import annotations

from tests.stockpot.command import stockpot
from tests.sweeps import made_searches as made


def test_a_running_sweep_becomes_one_page(tmp_path):
    made.trials(made.begin(tmp_path / "sweep"), 3)
    done = stockpot("report", tmp_path / "sweep")
    page = tmp_path / "sweep" / "report.html"
    assert done.stdout == f"{page}\n"
    assert "STILL RUNNING" in page.read_text() and "<h1>Sweep search</h1>" in page.read_text()
    assert {file.name for file in (tmp_path / "sweep").iterdir()} == {"ledger", "report.html"}
    elsewhere = tmp_path / "new" / "a page.html"
    stockpot("report", tmp_path / "sweep", "--out", elsewhere)
    assert elsewhere.read_bytes() == page.read_bytes()


def test_wrong_folders_are_told_without_a_traceback(tmp_path):
    done = stockpot("report", tmp_path, check=False)
    assert done.returncode == 2 and "holds no sweep" in done.stderr and "Traceback" not in done.stderr
    made.begin(tmp_path / "sweep")
    done = stockpot("report", tmp_path / "sweep", "--out", tmp_path, check=False)
    assert done.returncode == 2 and "is a folder: name a file" in done.stderr
