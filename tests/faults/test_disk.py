"""A full disk and one that turned read-only: nothing is half written, the message says so, and --resume goes on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from corpora.files import build_folder
from sweeps.comparison import comparable
from sweeps.ledger import Ledger
from tests.faults.world import result_of
from tests.stockpot.command import stockpot
from tests.sweeps import made_ledgers as made


def fill(disk: Path) -> Path:
    """Takes all the room there is."""
    ballast = disk / "ballast"
    with open(ballast, "wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        while True:
            file.write(bytes(4096))
    return ballast


def test_a_ledger_on_a_full_disk_holds_what_it_said_it_holds(disk):
    place, _ = disk
    ledger = made.begin(place / "sweep")
    made.trial(ledger, 0, end="")
    ballast = fill(place)
    before = comparable(ledger.state())
    with pytest.raises(OSError, match="No space left"):
        made.trial(ledger, 1)
    assert comparable(ledger.state()) == before == comparable(Ledger.open(place / "sweep").state())
    ballast.unlink()
    made.trial(ledger, 1)
    assert comparable(Ledger.open(place / "sweep").state()) == comparable(ledger.state()) != before


def test_a_folder_that_does_not_fit_is_not_there(disk):
    place, _ = disk
    fill(place).write_bytes(bytes(900_000))  # room for a little
    with pytest.raises(OSError, match="No space left"):
        build_folder(place / "checkpoint", lambda beside: (beside / "weights").write_bytes(bytes(500_000)))
    assert [path.name for path in place.iterdir()] == ["ballast"]


def test_a_sweep_that_fills_its_disk_goes_on_when_there_is_room(world, disk):
    """Whichever write fails first, a checkpoint's or the ledger's, no trial is marked as failed for it."""
    place, change = disk
    size = sum(file.stat().st_size for file in (world.folder / "prepared").rglob("*") if file.is_file())
    change(f"size={size // 1024 + 900}k")
    out = Path(shutil.copytree(world.folder / "prepared", place / "out"))
    full = stockpot("sweep", world.sweep(), "--out", out, check=False, timeout=900)
    assert full.returncode == 1 and "Traceback" not in full.stderr, full.stderr
    assert "no space left on device" in full.stderr.lower()
    assert not any(trial.status == "failed" for trial in Ledger.open(out).state().trials.values())
    change("size=500m")
    stockpot("sweep", world.sweep(), "--out", out, "--resume", timeout=900)
    assert result_of(out) == world.reference


def test_read_only_storage_is_said_before_anything_starts_and_can_still_be_read(world, disk):
    place, change = disk
    made.trial(made.begin(place / "sweep"), 0)
    change("ro")
    refused = stockpot("sweep", world.sweep(), "--out", place / "new", check=False)
    assert refused.returncode == 2 and "Traceback" not in refused.stderr
    assert "cannot be written to (Read-only file system): give another --out" in refused.stderr
    assert "made" in stockpot("status", place / "sweep").stdout
