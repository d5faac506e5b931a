"""One driver a sweep, told by the lease; time and process ids come in."""

from __future__ import annotations

import os

import pytest

from corpora.errors import StockpotError
from sweeps.lease import HUNG, STALE, Lease, LeaseHeld, LeaseLost, holder_of, wait_for_sign

DEAD = 2**22 + 1  # over the largest process id that Linux gives


def test_a_second_driver_is_refused_until_the_first_lets_go(tmp_path):
    first = Lease.acquire(tmp_path, "a", 100.0)
    with pytest.raises(LeaseHeld, match=f"process {os.getpid()}"):
        Lease.acquire(tmp_path, "b", 130.0)
    first.beat(150.0)
    with pytest.raises(LeaseHeld):
        Lease.acquire(tmp_path, "b", 150.0 + HUNG)  # starved, but seen to live
    first.release()
    assert Lease.acquire(tmp_path, "b", 151.0).holder.owner == "b"
    assert sorted(p.name for p in (tmp_path / "ledger").iterdir()) == ["lease.json"]


@pytest.mark.parametrize("later", [STALE + 1, -STALE - 1, 1e7, -1e7])
def test_a_lease_without_heartbeat_is_taken_over_whichever_way_the_clock_jumped(tmp_path, later):
    first = Lease.acquire(tmp_path, "a", 1e9, host="elsewhere")
    second = Lease.acquire(tmp_path, "b", 1e9 + later)
    with pytest.raises(LeaseLost, match="taken over"):
        first.beat(1e9 + later)
    first.release()  # is no longer its to remove
    assert holder_of(tmp_path) == second.holder


def test_a_dead_process_on_this_host_holds_nothing(tmp_path):
    Lease.acquire(tmp_path, "a", 100.0, pid=DEAD)
    assert Lease.acquire(tmp_path, "b", 101.0).holder.owner == "b"


def test_a_process_of_another_host_counts_until_its_heartbeat_ends(tmp_path):
    Lease.acquire(tmp_path, "a", 100.0, host="elsewhere", pid=DEAD)
    with pytest.raises(LeaseHeld, match="elsewhere"):
        Lease.acquire(tmp_path, "b", 101.0)


@pytest.mark.parametrize("jump", [HUNG + 1, -1e7])
def test_a_process_of_this_host_that_hangs_holds_nothing_either(tmp_path, jump):
    Lease.acquire(tmp_path, "a", 1e9)
    assert Lease.acquire(tmp_path, "b", 1e9 + jump).holder.owner == "b"


@pytest.mark.parametrize("content", ["{", "[]", '{"owner": "a"}', '{"owner": "a", "host": "h", "pid": "x", "heartbeat": null}'])
def test_a_damaged_lease_names_its_file(tmp_path, content):
    Lease.acquire(tmp_path, "a", 1e9)
    (tmp_path / "ledger/lease.json").write_text(content)
    with pytest.raises(StockpotError, match="lease.json: not a lease file"):
        holder_of(tmp_path)


def test_a_removed_lease_is_lost(tmp_path):
    first = Lease.acquire(tmp_path, "a", 100.0)
    (tmp_path / "ledger/lease.json").unlink()
    with pytest.raises(LeaseLost, match="removed"):
        first.beat(101.0)


@pytest.mark.parametrize(
    ("sign", "waited", "works"),
    [
        ({}, STALE - 20, False),  # silent: dead
        ({7: {"heartbeat": 130.0}}, 7, True),
        ({7: None}, 7, False),  # given back
    ],
)
def test_a_driver_of_another_machine_is_given_time_to_show_that_it_lives(tmp_path, sign, waited, works):
    other = Lease.acquire(tmp_path, "a", 100.0, host="elsewhere", pid=DEAD)
    now, said = [120.0], []

    def sleep(seconds: float) -> None:
        now[0] += seconds
        if (shown := sign.get(now[0] - 120.0, {})) is None:
            other.release()
        elif shown:
            other.beat(shown["heartbeat"])

    wait_for_sign(lambda: holder_of(tmp_path), lambda: now[0], said.append, sleep)
    assert now[0] - 120.0 == pytest.approx(waited, abs=1.5) and "elsewhere works on this sweep, or did until it died" in said[0]
    if works:
        with pytest.raises(LeaseHeld):
            Lease.acquire(tmp_path, "b", now[0])
    else:
        Lease.acquire(tmp_path, "b", now[0])


def test_a_driver_of_this_machine_is_not_waited_for(tmp_path):
    Lease.acquire(tmp_path, "a", 100.0)
    wait_for_sign(lambda: holder_of(tmp_path), lambda: 101.0, pytest.fail, pytest.fail)
