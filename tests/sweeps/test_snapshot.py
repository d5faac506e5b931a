"""The standing: what a snapshot and later events give is what the whole ledger gives."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.errors import StockpotError
from sweeps import ledger as module
from sweeps.ledger import Ledger
from sweeps.ledger_state import ENDS
from sweeps.snapshot import Follower, read_snapshot
from sweeps.standing import Standing
from sweeps.summary import ranked
from tests.sweeps import made_ledgers

STEPS = (20, 40)
OBJECTIVES = [{"metric": "context/Answer@10", "direction": "maximize"}, {"metric": "q2c/nDCG@10", "direction": "minimize"}]
SWEEP = {
    "sweep_id": "s1", "name": "n", "attributes": {"config": "c", "code": "k", "data": "d"},
    "config": {"search": {"trials": 9, "objectives": OBJECTIVES}, "scheduler": {"metric": "loss"}},
}  # fmt: skip
ACTIONS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.floats(0, 1, width=16)), max_size=40)


def act(ledger: Ledger, ordinal: int, what: int, value: float, now: float) -> None:
    """Whatever comes next for the trial; what contradicts the ledger is not written."""
    trials = ledger.state().trials
    events = [
        ("proposed", {"ordinal": ordinal, "params": {"steps": 40}, "varied": {"weight": value}}),
        ("started", {"ordinal": ordinal}),
        ("report", {"ordinal": ordinal, "step": STEPS[int(2 * value) % 2], "metrics": {"loss": value}}),
        ("checkpoint", {"ordinal": ordinal, "step": STEPS[int(2 * value) % 2], "folder": "f", "sha256": f"{value}"}),
        ("scores", {"ordinal": ordinal, "step": STEPS[int(4 * value) % 2], "split": "dev",
                    "figures": {"dev/context/Answer@10": value, "dev/q2c/nDCG@10": value * value}}),
        ("ended", {"ordinal": ordinal, "status": ENDS[int(9 * value) % 3], "reason": "r"}),
    ]  # fmt: skip
    if what and ordinal not in trials:
        what = 0
    try:
        ledger.append(*events[what], now)
    except StockpotError:
        return


@settings(max_examples=60, deadline=None)
@given(ACTIONS, ACTIONS)
def test_a_snapshot_and_what_came_after_give_what_all_events_give(tmp_path_factory, before, after):
    folder = tmp_path_factory.mktemp("sweep")
    ledger = Ledger.create(folder, SWEEP, 0.0)
    early = Follower(folder)
    for now, action in enumerate(before):
        act(ledger, *action, float(now))
    ledger.append("closed", {"status": "interrupted", "reason": "asked to stop"}, 50.0)
    assert (folder / "ledger" / "snapshot.json").exists()
    ledger = Ledger.open(folder, write=True)
    ledger.append("resumed", {"attributes": {"config": "d"}, "config": SWEEP["config"], "planned": 12}, 60.0)
    for now, action in enumerate(after):
        act(ledger, *action, 60.0 + now)
    late = Follower(folder).standing()
    (folder / "ledger" / "snapshot.json").unlink()
    assert early.standing() == late == Follower(folder).standing()
    assert_agrees(late, ledger)
    assert late.planned == 12 and late.sweep["attributes"] == {"config": "d", "code": "k", "data": "d"}


def assert_agrees(standing: Standing, ledger: Ledger) -> None:
    """Against the whole state, the slow and obvious way."""
    state = ledger.state()
    assert (standing.status, standing.reason, standing.updated) == (state.status, state.reason, state.updated)
    assert (standing.sweep, standing.spent, standing.begun) == (state.sweep, state.spent, state.begun)
    assert list(standing.trials) == list(state.trials)
    points = []
    for ordinal, trial in state.trials.items():
        shown = standing.trials[ordinal]
        assert (shown.status, shown.reason, shown.started, shown.ended) == (trial.status, trial.reason, trial.started, trial.ended)
        assert shown.step == max(trial.reports, default=0)
        losses = [report.metrics["loss"] for report in trial.reports.values()]
        assert shown.highest == max(losses, default=None)
        assert shown.checkpoints == len(trial.checkpoints)
        scored = {step: one.scores["dev"].figures for step, one in trial.checkpoints.items() if "dev" in one.scores}
        assert shown.evaluated == len(scored)
        points += [(ordinal, step, (f["dev/context/Answer@10"], f["dev/q2c/nDCG@10"])) for step, f in scored.items() if trial.status != "failed"]
    front = [
        one for one in points
        if not any(o[2] != one[2] and o[2][0] >= one[2][0] and o[2][1] <= one[2][1] for o in points)
    ]  # fmt: skip
    assert sorted((point.trial.ordinal, point.step, point.values) for point in standing.front()) == sorted(front)
    best = ranked(state)
    assert (standing.best(0) is None) == (not points)
    if points:
        assert standing.best(0).values[0] == max(values[0] for _, _, values in points)
    if best and best[0][0].status != "failed":
        assert standing.best(0).values[0] == best[0][1].value


@pytest.mark.parametrize("damage", ["cut", "bit", "version", "fields", "foreign", "ahead", "empty"])
def test_a_snapshot_that_cannot_be_trusted_does_no_harm(tmp_path, damage):
    ledger = made_ledgers.begin(tmp_path)
    made_ledgers.trial(ledger, 0)
    made_ledgers.close(ledger)
    path, expected = tmp_path / "ledger" / "snapshot.json", Follower(tmp_path).standing()
    whole = path.read_bytes()
    assert read_snapshot(tmp_path / "ledger")[0] == expected
    if damage == "foreign":
        other = made_ledgers.begin(tmp_path / "other", name="other")
        other.append_all([("soup", {"what": "candidate", "key": "k"}), ("closed", {"status": "failed"})], 2_000_000.0)
        body = (tmp_path / "other" / "ledger" / "snapshot.json").read_bytes()
        path.write_bytes(_resealed(body, lambda content: content["head"]["sweep"].update(sweep_id="another")))
    elif damage == "ahead":
        path.write_bytes(_resealed(whole, lambda content: content["read"].update({"0000": 10_000})))
    elif damage == "fields":
        path.write_bytes(_resealed(whole, lambda content: content["head"].pop("reason")))
    elif damage == "version":
        path.write_bytes(_resealed(whole, lambda content: content.update(format=0)))
    else:
        path.write_bytes({"cut": whole[:-9], "bit": whole.replace(b"finished", b"finishes"), "empty": b""}[damage])
    assert read_snapshot(tmp_path / "ledger") is None
    assert Follower(tmp_path).standing() == expected


def _resealed(snapshot: bytes, change) -> bytes:
    """The snapshot with a change and the checksum of it."""
    import hashlib

    content = json.loads(snapshot.partition(b"\n")[2])
    change(content)
    body = json.dumps(content).encode()
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def test_a_snapshot_comes_every_so_many_event_files_and_a_full_disk_is_no_reason_to_fail(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "EVERY", 5)
    ledger = made_ledgers.begin(tmp_path)
    made_ledgers.trial(ledger, 0)
    assert sum(read_snapshot(tmp_path / "ledger")[1].values()) % 5 == 0

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "write_snapshot", full)
    made_ledgers.close(ledger)
    assert Follower(tmp_path).standing().status == "finished"


def test_no_sweep_is_said(tmp_path):
    with pytest.raises(StockpotError, match="holds no sweep"):
        Follower(tmp_path)
