"""A second driver, SIGTERM while a sweep prepares, kill -9 while it makes its soup, and clocks that jump."""

from __future__ import annotations

import itertools
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sweeps.comparison import comparable
from sweeps.lease import holder_of
from sweeps.leased import leased
from sweeps.ledger import Ledger
from tests.faults.processes import wait_for
from tests.faults.world import World, result_of
from tests.stockpot.command import stockpot
from tests.sweeps.test_conductor import Simulation, config


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "stockpot", *map(str, arguments)]


def test_a_second_driver_is_refused_and_disturbs_nothing(world, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(world.folder / "undisturbed", out)
    before = result_of(out)
    with leased(out, time.time):
        for arguments in (["sweep", world.sweep(), "--out", out, "--resume"], ["soup", out]):
            refused = stockpot(*arguments, check=False)
            assert refused.returncode == 1 and "another driver works on this sweep (process" in refused.stderr
            assert "Traceback" not in refused.stderr
    assert result_of(out) == before and Ledger.open(out).state().status == "finished"


def test_sigterm_while_it_prepares_leaves_what_is_whole(world, tmp_path):
    out = tmp_path / "out"
    driver = subprocess.Popen(command("sweep", world.sweep(), "--out", out), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    wait_for(lambda: holder_of(out) or driver.poll() is not None, "a driver that prepares")
    driver.send_signal(signal.SIGTERM)
    said = driver.communicate(timeout=300)[1]
    assert driver.returncode == 1 and "interrupted" in said and "Traceback" not in said, said
    assert holder_of(out) is None and not (out / "ledger" / "events").exists()
    told = json.loads(stockpot("prepare", world.sweep(), "--out", out, "--json", timeout=900).stdout)
    whole = json.loads(stockpot("prepare", world.sweep(), "--out", world.folder / "prepared", "--json", timeout=900).stdout)
    assert [Path(told[name]).name for name in ("base", "data", "inline")] == [Path(whole[name]).name for name in ("base", "data", "inline")]


def test_kill_9_while_it_makes_its_soup_changes_nothing(world, tmp_path):
    out = tmp_path / "out"
    before_soup(world, out)
    assert not result_of(out)["soup"]
    rng = random.Random(0)
    for _ in range(3):
        cook = subprocess.Popen(command("soup", out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: (out / "soup").exists() or cook.poll() is not None, "a soup under way")
        time.sleep(rng.uniform(0, 1))
        cook.kill()
        cook.wait()
    stockpot("soup", out, check=False, timeout=900)
    assert result_of(out) == world.reference
    assert not [*out.glob(".soup.*"), *(out / "soup").glob(".*")], "half-made folders of the killed ones"


def test_sigterm_while_it_makes_its_soup_is_said_and_changes_nothing(world, tmp_path):
    """Ray has started and ended by then, and taken the handler of SIGTERM with it."""
    out = tmp_path / "out"
    before_soup(world, out)
    for arguments in (("sweep", world.sweep(), "--out", out, "--resume"), ("soup", out)):
        driver = subprocess.Popen(command(*arguments), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        wait_for(lambda: (out / "soup").exists() or driver.poll() is not None, "a soup under way")
        driver.send_signal(signal.SIGTERM)
        said = driver.communicate(timeout=300)[1]
        assert driver.returncode == 1 and "interrupted" in said and "Traceback" not in said, said
        assert holder_of(out) is None and not result_of(out)["soup"]
        shutil.rmtree(out / "soup", ignore_errors=True)
    stockpot("soup", out, check=False, timeout=900)
    assert result_of(out) == world.reference


def before_soup(world: World, out: Path) -> None:
    """The undisturbed sweep as a driver left it that was killed before the soup."""
    shutil.copytree(world.folder / "undisturbed", out)
    shutil.rmtree(out / "soup")
    events = sorted((out / "ledger" / "events").glob("*.json"))
    first = next(place for place, file in enumerate(events) if '"kind":"soup"' in file.read_text())
    for file in (*events[first:], out / "ledger" / "snapshot.json"):
        file.unlink(missing_ok=True)
    shutil.rmtree(out / "ledger" / "segments", ignore_errors=True)
    for file in (out / "ledger" / "scores").glob("*"):
        if not file.name.startswith(("dev-trial-", "dev-baseline-")):
            file.unlink()


@pytest.mark.parametrize("seed", range(3))
def test_jumping_clocks_change_no_decision(tmp_path, seed):
    settings = config("deterministic")
    steady = Simulation(settings, tmp_path / "steady", seed)
    steady.run()
    jumping = Simulation(settings, tmp_path / "jumping", seed)
    rng, count = random.Random(seed), itertools.count()
    # Hours forth and back, by a clock that is set at random: what a broken NTP does, or a suspended machine.
    jumping.conductor.clock = lambda: 1e9 + next(count) + rng.choice([0, 0, 3600, -86400])
    jumping.run()
    assert comparable(jumping.ledger.state()) == comparable(steady.ledger.state())
    assert jumping.ledger.state().worked(0.0) >= 0 and Ledger.open(tmp_path / "jumping").state().trials
