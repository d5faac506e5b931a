"""A sweep's folder in storage: what is kept, in which order, by which driver; with storage that fails."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from corpora import storage
from corpora.errors import InputError
from corpora.mirror import Mirror
from sweeps.comparison import comparable
from sweeps.lease import LeaseHeld
from sweeps.ledger import Ledger
from sweeps.stored import LEASE, stored
from tests.corpora.faulty_store import faulty_store
from tests.sweeps import made_ledgers


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return (tmp_path / "kept").as_uri()


@contextmanager
def keeping(folder: Path, uri: str, resume: bool = False, now: float | None = None) -> Iterator[list[str]]:
    said: list[str] = []
    with stored(folder, uri, resume, time.time if now is None else lambda: now, said.append):
        yield said


CHECKPOINT = "trials/a/step-000020"


def make(folder: Path) -> Ledger:
    """A ledger whose trial has one checkpoint that lies there."""
    ledger = made_ledgers.begin(folder)
    made_ledgers.trial(ledger, 0, steps=(), end="")
    (folder / CHECKPOINT).mkdir(parents=True)
    (folder / CHECKPOINT / "model.safetensors").write_text("weights")
    what = {"ordinal": 0, "step": 20}
    ledger.append_all([("report", {**what, "metrics": {}}), ("checkpoint", {**what, "folder": CHECKPOINT, "sha256": "0" * 64})], 1_000_200.0)
    return ledger


def test_what_a_driver_kept_another_machine_goes_on_with(tmp_path: Path, uri: str) -> None:
    with keeping(tmp_path / "one", uri):
        before = comparable(make(tmp_path / "one").state())
    shutil.rmtree(tmp_path / "one")
    with keeping(tmp_path / "two", uri, resume=True) as said:
        assert comparable(Ledger.open(tmp_path / "two").state()) == before
        assert (tmp_path / "two" / CHECKPOINT / "model.safetensors").read_text() == "weights"
    assert said == [f"bringing the sweep from {uri}"]


def test_storage_that_holds_a_sweep_is_not_begun_anew(tmp_path: Path, uri: str) -> None:
    with keeping(tmp_path / "one", uri):
        make(tmp_path / "one")
    with pytest.raises(InputError, match="holds a sweep already: go on with it by --resume"), keeping(tmp_path / "two", uri):
        pass
    assert not (tmp_path / "two" / "ledger").exists()
    with keeping(tmp_path / "two", uri, resume=True):  # the refused one left no lease behind
        pass


def test_a_machine_that_was_passed_over_goes_on_from_what_storage_holds(tmp_path: Path, uri: str) -> None:
    """Its driver died before it kept its last event; another machine took the sweep on; then the first is asked again."""
    with keeping(tmp_path / "one", uri):
        own = make(tmp_path / "one")
    own.append("report", {"ordinal": 0, "step": 40, "metrics": {"loss": 1.0}}, 1_000_300.0)  # never kept
    with keeping(tmp_path / "two", uri, resume=True):
        ledger = Ledger.open(tmp_path / "two", write=True)
        ledger.append("resumed", {"attributes": {}}, 1_000_400.0)
        before = comparable(ledger.state())
    with keeping(tmp_path / "one", uri, resume=True) as said:
        state = Ledger.open(tmp_path / "one").state()
        assert comparable(state) == before and len(state.resumed) == 1 and 40 not in state.trials[0].reports
    assert "another machine took the sweep on" in said[0] and (tmp_path / "one" / "ledger" / "until-0000" / "events").is_dir()
    with keeping(tmp_path / "one", uri, resume=True) as said:  # it knows the latest now
        assert said == []


def test_one_driver_at_a_time_and_a_stale_one_is_followed(tmp_path: Path, uri: str) -> None:
    with keeping(tmp_path / "one", uri, now=1000.0):
        with pytest.raises(LeaseHeld, match="another driver works on this sweep"), keeping(tmp_path / "two", uri, now=1030.0):
            pass
        with keeping(tmp_path / "two", uri, now=1601.0):
            held = json.loads(Mirror(tmp_path, uri).storage.get_bytes(LEASE))
            assert held["heartbeat"] == 1601.0
    with keeping(tmp_path / "three", uri, now=1602.0):  # both gave it back
        pass


def test_an_event_is_kept_after_what_it_names(tmp_path: Path, uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[str] = []
    keep = Mirror.keep

    def recorded(self: Mirror, places) -> None:
        places = list(places)
        kept.extend(self.name(place) for place in places)
        keep(self, places)

    monkeypatch.setattr(Mirror, "keep", recorded)
    with keeping(tmp_path / "one", uri):
        make(tmp_path / "one")
    events = [name for name in kept if name.startswith("ledger/events/")]
    assert events == [f"ledger/events/0000-{number:08d}.json" for number in range(4)]
    assert kept[-2:] == [CHECKPOINT, events[-1]]


def test_an_outage_delays_and_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "anyone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "anything")
    monkeypatch.setattr(storage, "ATTEMPTS", 1)
    with faulty_store() as (uri, faults):
        with keeping(tmp_path / "one", uri) as said:
            faults.down = True
            before = comparable(make(tmp_path / "one").state())
            deadline = time.monotonic() + 120
            while not said and time.monotonic() < deadline:
                time.sleep(0.1)
            faults.down = False
        assert len(said) == 1 and "storage does not answer" in said[0] and "the sweep goes on" in said[0]
        with keeping(tmp_path / "two", uri, resume=True):
            assert comparable(Ledger.open(tmp_path / "two").state()) == before
