"""What a process that was killed left half written: removed by the next one, and nothing else with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from corpora.files import beside_prefix, build_folder, remove_leftovers, scratch_folder, write_atomically
from sweeps.leased import leased

AT_WORK = """
import sys, time
from pathlib import Path
from corpora.files import build_folder, scratch_folder, write_atomically

def wait(beside):
    (beside / "half").write_text("half") if beside.is_dir() else beside.write_text("half")
    Path(sys.argv[2]).touch()
    time.sleep(600)

what, place = sys.argv[1], Path(sys.argv[3])
if what == "scratch":
    with scratch_folder(place) as made:
        wait(made)
{"folder": build_folder, "file": write_atomically}[what](place, wait)
"""


@pytest.fixture
def at_work(tmp_path):
    """Starts a process that stays in the middle of writing `place`."""
    started = []

    def start(what: str, place: Path) -> subprocess.Popen:
        sign = tmp_path / f"sign-{len(started)}"
        started.append(subprocess.Popen([sys.executable, "-c", AT_WORK, what, sign, place]))
        end = time.monotonic() + 60
        while not sign.exists():
            assert time.monotonic() < end and started[-1].poll() is None
            time.sleep(0.05)
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def _kill(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("what", ["folder", "file", "scratch"])
def test_what_a_killed_process_left_goes_and_what_a_living_one_makes_stays(at_work, tmp_path, what):
    place = tmp_path / "store" / "built"
    place.parent.mkdir()
    killed, living = at_work(what, place), at_work(what, place)
    _kill(killed)
    mine = place.parent / f"{beside_prefix(place)}abcdefgh"
    elsewhere = place.parent / f".built.00000000-{killed.pid}.abcdefgh"
    foreign = [place.parent / name for name in (".hidden", "tmpabcdefgh", ".built.abcdefgh", f".built.{killed.pid}.abcdefgh")]
    for folder in (mine, elsewhere, *foreign):
        folder.mkdir()
    remove_leftovers(place.parent)
    left = set(place.parent.iterdir()) - {mine, elsewhere, *foreign}
    assert len(left) == 1 and f"-{living.pid}." in left.pop().name
    assert all(folder.is_dir() for folder in (mine, elsewhere, *foreign))
    remove_leftovers(tmp_path / "nowhere")


def test_the_next_driver_of_a_sweep_removes_what_a_killed_one_left(at_work, tmp_path):
    """The scratch folder of a soup's midpoints, a soup, and what all trials share."""
    sweep = tmp_path / "sweep"
    (sweep / "store" / "prepared").mkdir(parents=True)
    for what, place in (("scratch", "soup"), ("folder", "soup/candidate"), ("folder", "store/prepared/abc"), ("file", "sweep.json")):
        _kill(at_work(what, sweep / place))
    assert len(list(sweep.rglob(".*-*"))) == 4
    with leased(sweep, time.time):
        assert not list(sweep.rglob(".*-*"))


def test_nothing_is_left_where_nothing_is_killed(tmp_path):
    build_folder(tmp_path / "folder", lambda beside: (beside / "a").write_text("a"))
    write_atomically(tmp_path / "file", "text")
    with scratch_folder(tmp_path / "soup") as scratch:
        assert scratch.parent == tmp_path and str(os.getpid()) in scratch.name
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
