"""`stockpot status` and what it shows, on sweeps made by hand."""

from __future__ import annotations

import io
import json
import threading
import time
from pathlib import Path

import pytest
from rich.console import Console

from stockpot import progress
from stockpot.view import headline, seconds_left, span, state_line, view
from sweeps.lease import Lease
from sweeps.ledger import Ledger
from sweeps.snapshot import Follower
from tests.stockpot.command import stockpot

OBJECTIVES = [{"metric": "context/Answer@10", "direction": "maximize"}, {"metric": "chunk-size/drop", "direction": "minimize"}]
CONFIG = {"name": "made", "search": {"trials": 12, "objectives": OBJECTIVES}, "scheduler": {"metric": "inline/Answer@10"},
          "budget": {"hours": 2.0}, "mlflow": {}}  # fmt: skip


def begin(folder: Path, now: float = 1000.0) -> Ledger:
    attributes = {"config": "c", "code": "k", "data": {}}
    return Ledger.create(folder, {"sweep_id": "s", "name": "made", "config": CONFIG, "attributes": attributes}, now)


def trial(ledger: Ledger, ordinal: int, end: str, answer: float, drop: float, now: float = 1000.0, reason: str = "") -> None:
    ledger.append("proposed", {"ordinal": ordinal, "params": {"steps": 40}, "varied": {"weight": ordinal / 10}}, now)
    ledger.append("started", {"ordinal": ordinal}, now)
    ledger.append_all([
        ("report", {"ordinal": ordinal, "step": 20, "metrics": {"inline/Answer@10": answer}}),
        ("checkpoint", {"ordinal": ordinal, "step": 20, "folder": f"t/{ordinal}", "sha256": "x"}),
    ], now)  # fmt: skip
    figures = {"dev/context/Answer@10": answer, "dev/chunk-size/drop": drop}
    ledger.append("scores", {"ordinal": ordinal, "step": 20, "split": "dev", "figures": figures, "per_query": "p"}, now)
    if end:
        ledger.append("ended", {"ordinal": ordinal, "status": end, "reason": reason}, now)


@pytest.fixture
def made(tmp_path) -> Path:
    ledger = begin(tmp_path)
    trial(ledger, 0, "finished", 0.5, 9.0)
    trial(ledger, 1, "stopped", 0.3, 5.0)
    trial(ledger, 2, "finished", 0.2, 7.0)  # worse than trial 1 in both
    trial(ledger, 3, "failed", 0.9, 1.0, reason="NonFinite: step 7: the loss is nan\nmore")
    trial(ledger, 4, "", 0.4, 9.5, now=2800.0)
    return tmp_path


def shown(folder: Path, now: float) -> str:
    console = Console(file=io.StringIO(), width=160)
    console.print(view(Follower(folder).standing(), now))
    return console.file.getvalue()


def test_a_damaged_ledger_is_all_that_is_said(tmp_path):
    """Not first a view of what the snapshot still holds."""
    begin(tmp_path)
    Follower(tmp_path).standing()
    (event,) = (tmp_path / "ledger" / "events").glob("*.json")
    event.write_bytes(event.read_bytes()[:40])
    refused = stockpot("status", tmp_path, check=False)
    assert refused.returncode == 1 and refused.stdout == ""
    assert "not a readable event file" in refused.stderr and "bring 0000-00000000.json back" in refused.stderr


def test_the_view_says_what_a_user_asks_for(made):
    told = shown(made, 1000.0 + 3600)
    assert "trials 4/12" in told and "best inline/Answer@10 0.900 (trial 3)" in told
    assert "running 1, finished 2, stopped 1, failed 1; 4.0 trials an hour; 60 min of work of 2:00 h" in told
    assert "best context/Answer@10 0.500: trial 0 (w=0), step 20" in told, "a failed trial is never best"
    assert "best chunk-size/drop 5.000: trial 1 (w=0.1), step 20" in told
    assert "trial 3 (w=0.3) failed: NonFinite: step 7: the loss is nan" in told and "more" not in told
    front = told[told.index("Pareto front") :].splitlines()
    assert [line.split()[0] for line in front[2:4]] == ["0", "1"] and "0.500" in front[2] and "5.000" in front[3]
    assert "trial 4" in told and "step 20/40" in told


def test_time_left_follows_the_pace_of_work_and_not_of_absence(made):
    standing = Follower(made).standing()
    share = (4 + 0.5) / 12
    assert seconds_left(standing, 4600.0) == pytest.approx(3600 * (1 - share) / share)
    ledger = Ledger.open(made, write=True)
    ledger.append("closed", {"status": "interrupted"}, 2800.0)
    assert seconds_left(Follower(made).standing(), 9e9) is None
    ledger.append("resumed", {"attributes": {}}, 1_000_000.0)
    assert Follower(made).standing().worked(1_000_100.0) == 1800 + 100
    assert "about" in headline(Follower(made).standing(), 1_000_100.0)


@pytest.mark.parametrize(("seconds", "told"), [(45, "45 s"), (720, "12 min"), (11_100, "3:05 h")])
def test_spans_are_short(seconds, told):
    assert span(seconds) == told


def test_a_driver_that_is_gone_is_said_with_what_to_do(made):
    gone = stockpot("status", made).stdout
    assert "running" not in gone.splitlines()[0] and json.loads(stockpot("status", made, "--json").stdout)["status"] == "interrupted"
    assert "its driver is gone since" in gone and "--resume" in gone and "trials 4/12" in gone
    lease = Lease.acquire(made, "driver", time.time())
    assert "made: running" in stockpot("status", made).stdout
    lease.release()
    assert Follower(made).standing().status == "running"
    Lease.acquire(made, "killed", time.time(), pid=2**22 + 1)
    assert "its driver is gone since" in state_line(Follower(made).standing(), made, time.time())


def test_watching_ends_with_the_sweep(made, monkeypatch):
    """Against a driver of this process: the view follows the ledger and ends when the ledger is closed."""
    monkeypatch.setattr(progress, "REFRESH", 0.01)
    told = Console(file=io.StringIO(), width=160)
    monkeypatch.setattr(progress, "progress", told)
    ledger, lease = Ledger.open(made, write=True), Lease.acquire(made, "driver", time.time())
    watcher = threading.Thread(target=progress.watch_sweep, args=(made, Follower(made)))
    watcher.start()
    _wait_for(lambda: "trials 4/12" in told.file.getvalue())
    ledger.append("ended", {"ordinal": 4, "status": "finished"}, 2900.0)
    _wait_for(lambda: "trials 5/12" in told.file.getvalue())
    assert watcher.is_alive()
    ledger.append("closed", {"status": "finished"}, 3000.0)
    watcher.join(timeout=60)
    assert not watcher.is_alive()
    lease.release()


def test_a_folder_without_a_sweep_is_said(tmp_path):
    for command in ("status", "stop", "gc"):
        refused = stockpot(command, tmp_path, check=False)
        assert refused.returncode == 2 and "holds no sweep" in refused.stderr and "Traceback" not in refused.stderr


def test_many_trials_are_not_listed_one_by_one(tmp_path):
    ledger = begin(tmp_path)
    for ordinal in range(201):
        trial(ledger, ordinal, "finished", 0.5, 5.0 + ordinal)
    told = stockpot("status", tmp_path).stdout
    assert "trials 201/12" in told and "201 trials: --json has a row for each" in told and len(told.splitlines()) < 20


def _wait_for(condition) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)
