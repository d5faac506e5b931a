"""The ledger: whatever is folded from the files is what the writer knows, and nothing contradicts."""

from __future__ import annotations

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.errors import StockpotError
from sweeps import ledger as module
from sweeps.comparison import comparable
from sweeps.ledger import Ledger
from sweeps.ledger_state import trial_id
from sweeps.snapshot import Follower
from tests.sweeps import made_ledgers

SWEEP = {"sweep_id": "s1", "name": "n", "config": {"a": 1}, "attributes": {"config": "c", "code": "k", "data": "d"}}


def a_sweep(folder, sweep_id="s1", start=0.0):
    ledger = Ledger.create(folder, {**SWEEP, "sweep_id": sweep_id}, start)
    for ordinal in (0, 1):
        ledger.append("proposed", {"ordinal": ordinal, "params": {"weight": 0.5}, "varied": {}}, start + 1)
        ledger.append("started", {"ordinal": ordinal}, start + 2)
        report = {"ordinal": ordinal, "step": 20, "metrics": {"inline/Answer@10": 0.25}, "seconds": {"train": start}}
        folder_of = f"trials/{trial_id(sweep_id, ordinal)}/step-000020"
        checkpoint = {"ordinal": ordinal, "step": 20, "folder": folder_of, "sha256": "ab"}
        ledger.append_all([("report", report), ("checkpoint", checkpoint)], start + 3)
    ledger.append("ended", {"ordinal": 0, "status": "stopped", "reason": "asha"}, start + 4)
    scores = {
        "ordinal": 0,
        "step": 20,
        "split": "dev",
        "figures": {"q2c/nDCG@10": 0.5},
        "per_query": "ledger/scores/x.parquet",
    }
    ledger.append("scores", scores, start + 5)
    return ledger


def test_a_reader_sees_what_the_writer_knows(tmp_path):
    writer = a_sweep(tmp_path)
    reader = Ledger.open(tmp_path)
    assert reader.state() == writer.state()
    writer.append("retried", {"ordinal": 1, "reason": "killed"}, 9.0)
    assert reader.state() == writer.state()
    trial = reader.state().trials[1]
    assert (trial.status, trial.retries, trial.trial_id) == ("proposed", ["killed"], trial_id("s1", 1))
    assert reader.state().trials[0].checkpoints[20].scores["dev"].figures == {"q2c/nDCG@10": 0.5}


def test_writing_again_writes_nothing(tmp_path):
    ledger = a_sweep(tmp_path)
    files = sorted((tmp_path / "ledger/events").iterdir())
    again = {"ordinal": 1, "step": 20, "metrics": {"inline/Answer@10": 0.25}, "seconds": {"train": 7.0}}
    assert not ledger.append("report", again, 99.0)
    assert not ledger.append("ended", {"ordinal": 0, "status": "stopped", "reason": "asha"}, 99.0)
    assert sorted((tmp_path / "ledger/events").iterdir()) == files
    assert ledger.state().trials[1].reports[20].time == 3.0


@pytest.mark.parametrize(
    ("kind", "payload", "message"),
    [
        ("report", {"ordinal": 1, "step": 20, "metrics": {"inline/Answer@10": 0.26}}, "trial 1 at step 20"),
        ("report", {"ordinal": 0, "step": 40, "metrics": {}}, "stopped already"),
        ("report", {"ordinal": 1, "step": 40, "metrics": {"loss": float("nan")}}, "not finite"),
        ("report", {"ordinal": 7, "step": 40, "metrics": {}}, "never proposed"),
        ("report", {"ordinal": 1, "step": 40}, "lacks"),
        ("checkpoint", {"ordinal": 1, "step": 20, "folder": "f", "sha256": "cd"}, "holds ab"),
        ("scores", {"ordinal": 1, "step": 99, "split": "dev", "figures": {}}, "no such checkpoint"),
        ("ended", {"ordinal": 0, "status": "finished"}, "holds stopped"),
        ("ended", {"ordinal": 1, "status": "gone"}, "not 'gone'"),
        ("proposed", {"ordinal": 1, "params": {"weight": 0.4}, "varied": {}}, "trial 1"),
        ("noise", {}, "unknown kind"),
    ],
)
def test_a_contradiction_is_refused_and_changes_nothing(tmp_path, kind, payload, message):
    ledger = a_sweep(tmp_path)
    before = comparable(ledger.state())
    good = ("report", {"ordinal": 1, "step": 60, "metrics": {"loss": 1.0}})
    with pytest.raises(StockpotError, match=message):
        ledger.append_all([good, (kind, payload)], 9.0)
    assert comparable(ledger.state()) == before == comparable(Ledger.open(tmp_path).state())
    assert ledger.append_all([good], 10.0)


def test_equal_sweeps_compare_equal_whatever_their_ids_and_times(tmp_path):
    one, two = a_sweep(tmp_path / "1", "s1"), a_sweep(tmp_path / "2", "s2", start=500.0)
    assert comparable(one.state()) == comparable(two.state())
    two.append("report", {"ordinal": 1, "step": 40, "metrics": {"loss": 1.0}}, 510.0)
    assert comparable(one.state()) != comparable(two.state())


def test_a_second_driver_goes_on_under_the_next_number(tmp_path):
    a_sweep(tmp_path)
    second = Ledger.open(tmp_path, write=True)
    second.append("resumed", {"attributes": {}}, 20.0)
    second.append("ended", {"ordinal": 1, "status": "finished"}, 21.0)
    assert (tmp_path / "ledger/events/0001-00000001.json").exists()
    state = Ledger.open(tmp_path).state()
    assert [trial.status for trial in state.trials.values()] == ["stopped", "finished"]
    assert len(state.resumed) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"format":1,"wri', "not a readable event file"),
        (b"[]\n", "not an event file"),
        (b'{"format":2,"writer":"0000","number":3,"events":[]}', "format 1"),
        (b'{"format":1,"writer":"0000","number":3,"events":[{"kind":"new","time":1}]}', "unknown kind"),
        (b'{"format":1,"writer":"0000","number":3,"events":[{"kind":"report","time":1,"ordinal":0}]}', "lacks"),
        (None, "missing"),
    ],
)
def test_a_broken_event_file_is_named(tmp_path, content, message):
    a_sweep(tmp_path)
    path = tmp_path / "ledger/events/0000-00000003.json"
    path.write_bytes(content) if content is not None else path.unlink()
    with pytest.raises(StockpotError, match=message) as error:
        Ledger.open(tmp_path)
    assert "0000-00000003.json" in str(error.value)


def test_what_is_said_of_a_damaged_newest_file_helps(tmp_path):
    a_sweep(tmp_path)
    events = tmp_path / "ledger" / "events"
    before = Ledger.open(tmp_path).state()
    newest = max(events.glob("*.json"))
    newest.write_bytes(newest.read_bytes()[:20])
    with pytest.raises(StockpotError, match="if it is the newest file of all, moving it and ledger/snapshot.json away leaves a whole ledger"):
        Ledger.open(tmp_path)
    newest.unlink()
    (tmp_path / "ledger" / "snapshot.json").unlink(missing_ok=True)
    again = Ledger.open(tmp_path, write=True)
    again.append("resumed", {"attributes": {}}, 20.0)
    assert set(Ledger.open(tmp_path).state().trials) <= set(before.trials)
    for path in events.glob("*.json"):
        path.unlink()
    with pytest.raises(StockpotError, match="its ledger/events is empty"):
        Ledger.open(tmp_path)


def test_no_sweep_and_no_second_sweep(tmp_path):
    with pytest.raises(StockpotError, match="holds no sweep"):
        Ledger.open(tmp_path)
    a_sweep(tmp_path)
    with pytest.raises(StockpotError, match="holds a sweep already"):
        a_sweep(tmp_path)
    with pytest.raises(StockpotError, match="reading"):
        Ledger.open(tmp_path).append("closed", {"status": "finished"}, 1.0)


def test_a_failed_write_leaves_the_state_with_the_files(tmp_path, monkeypatch):
    ledger = a_sweep(tmp_path)

    def full(path, content):
        raise OSError(28, "No space left on device")

    event = ("ended", {"ordinal": 1, "status": "finished"})
    with monkeypatch.context() as patched:
        patched.setattr(module, "write_atomically", full)
        with pytest.raises(OSError, match="No space"):
            ledger.append_all([event], 9.0)
    assert ledger.state().trials[1].status == "running"
    assert ledger.append_all([event], 10.0)
    assert Ledger.open(tmp_path).state() == ledger.state()


def test_a_copy_stays_as_it_was(tmp_path):
    """All but the trial that has ended, which is shared: what comes to it comes in one piece."""
    ledger = a_sweep(tmp_path)
    copied, as_it_was = ledger.glance(lambda state: state.copy(state.trials)), Ledger.open(tmp_path).state()
    assert copied == as_it_was and ledger.state().copy([1]).trials.keys() == {1}
    checkpoint = {"ordinal": 1, "step": 40, "folder": "trials/x/step-000040", "sha256": "cd"}
    report = {"ordinal": 1, "step": 40, "metrics": {"inline/Answer@10": 0.5}}
    scores = {"ordinal": 1, "step": 20, "split": "dev", "figures": {"q2c/nDCG@10": 0.5}}
    exploited = {"ordinal": 1, "step": 40, "donor": {"ordinal": 0, "step": 20, "sha256": "ab"}, "params": {}, "varied": {}}
    for kind, payload in (
        ("report", report), ("checkpoint", checkpoint), ("scores", scores), ("exploited", exploited),
        ("retried", {"ordinal": 1, "reason": "killed"}),
        ("baseline", {"name": "bm25", "split": "dev", "figures": {"q2c/nDCG@10": 0.5}}), ("opening", {"split": "test", "by": "me"}),
        ("soup", {"what": "candidate", "key": "k"}), ("resumed", {"attributes": {}}), ("closed", {"status": "finished"}),
    ):  # fmt: skip
        assert ledger.append(kind, payload, 20.0), kind
    assert copied == as_it_was != ledger.state()
    assert copied.trials[0] is ledger.state().trials[0] and copied.trials[1] is not ledger.state().trials[1]


def test_a_glance_shows_nothing_that_is_not_on_disk(tmp_path, monkeypatch):
    ledger, writing, go_on = a_sweep(tmp_path), threading.Event(), threading.Event()

    def full(*_):
        writing.set()
        go_on.wait(30)
        raise OSError("disk full")

    monkeypatch.setattr(module, "write_atomically", full)
    with ThreadPoolExecutor(2) as threads:
        written = threads.submit(ledger.append, "retried", {"ordinal": 1, "reason": "killed"}, 9.0)
        assert writing.wait(30)
        seen = threads.submit(ledger.glance, lambda state: state.trials[1].copy().retries)
        go_on.set()
        assert seen.result(30) == [] and isinstance(written.exception(30), OSError)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 9), max_size=40), st.integers(1, 5))
def test_segments_change_nothing(tmp_path_factory, reported, segment):
    """Any order of reports, read at any time, with segments of any size, against a plain dict."""
    folder = tmp_path_factory.mktemp("sweep")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "SEGMENT", segment)
        ledger = Ledger.create(folder, SWEEP, 0.0)
        early = Ledger.open(folder)
        ledger.append("proposed", {"ordinal": 0, "params": {}, "varied": {}}, 0.0)
        plain = {}
        for number, step in enumerate(reported):
            ledger.append("report", {"ordinal": 0, "step": step, "metrics": {"loss": step / 7}}, 1.0)
            plain[step] = {"loss": step / 7}
            if number % 3 == 0:
                early.state()
        for state in (ledger.state(), early.state(), Ledger.open(folder).state()):
            assert {step: report.metrics for step, report in state.trials[0].reports.items()} == plain
    for path in (folder / "ledger/events").iterdir():
        assert json.loads(path.read_bytes())["writer"] == "0000"


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ({"kind": "zzz"}, "unknown kind of event 'zzz'"),
        ({"kind": "report", "ordinal": 0, "step": "12", "metrics": {"loss": 1.0}}, "step is '12', a whole number is needed"),
        ({"kind": "report", "ordinal": 0, "step": 12, "metrics": {"loss": "x"}}, "an event lacks what its kind needs"),
        ({"kind": "scores", "ordinal": 0, "step": 20, "split": "confirm", "figures": {"dev/context/Answer@10": "x"}, "per_query": None},
         "an event lacks what its kind needs"),
    ],
)  # fmt: skip
def test_an_event_of_a_strange_form_is_told_with_its_file(tmp_path, event, said):
    ledger = made_ledgers.begin(tmp_path)
    made_ledgers.trial(ledger, 0, end="", steps=(20,))
    newest = json.loads(sorted((tmp_path / "ledger" / "events").glob("*.json"))[-1].read_text())
    strange = tmp_path / "ledger" / "events" / f"{newest['writer']}-{newest['number'] + 1:08d}.json"
    strange.write_text(json.dumps({**newest, "number": newest["number"] + 1, "events": [{**event, "time": 2000.0}]}) + "\n")
    readers = [lambda: Ledger.open(tmp_path).state()]
    if not said.startswith("an event lacks"):  # a standing looks at few numbers
        readers.append(lambda: Follower(tmp_path).standing())
    for read in readers:
        with pytest.raises(StockpotError, match=re.escape(said)) as told:
            read()
        assert strange.name in str(told.value)
