"""`stockpot gc` on a sweep made by hand: what goes, what stays and why, and that nobody looks for it afterwards."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from sweeps.config import SweepConfig
from sweeps.gc import survey
from sweeps.lease import Lease
from sweeps.ledger import Ledger
from sweeps.ledger_state import trial_id
from tests.stockpot.command import stockpot

CONFIG = SweepConfig.model_validate({
    "name": "made", "corpora": {"generate": "quick"}, "search": {"sampler": "random", "trials": 9},
    "recipe": {"weight": {"uniform": [0, 1]}},
}).model_dump(mode="json", by_alias=True)  # fmt: skip
MANIFEST = {
    "base": "b", "base_weights": "w", "encoder": "e", "layers": 1, "dimension": 2, "tokenizer_sha256": "t", "base_seed": 0,
    "frame": {"start": [2], "end": [3], "separator": 4, "pad": 0, "window": 512}, "files": {},
}  # fmt: skip
SCORES = {  # (ordinal, step): Answer@10, Document@1
    (0, 20): (0.1, 0.9), (0, 40): (0.2, 0.2), (1, 20): (0.3, 0.3), (1, 40): (0.5, 0.5), (2, 20): (0.4, 0.4), (2, 40): (0.6, 0.1),
    (3, 20): (0.9, 0.9), (4, 20): (0.2, 0.1), (5, 20): None,
}  # fmt: skip
ENDS = {0: "finished", 1: "stopped", 2: "finished", 3: "failed", 5: "finished"}  # trial 4 runs


@pytest.fixture
def sweep(tmp_path) -> Path:
    attributes = {"config": "c", "code": "k", "data": {}}
    ledger = Ledger.create(tmp_path, {"sweep_id": "s", "name": "made", "config": CONFIG, "attributes": attributes}, 0.0)
    for ordinal in range(6):
        ledger.append("proposed", {"ordinal": ordinal, "params": {"steps": 40}, "varied": {}}, 1.0)
        ledger.append("started", {"ordinal": ordinal}, 2.0)
        for step in (step for held, step in SCORES if held == ordinal):
            write_checkpoint(tmp_path / folder_of(ordinal, step))
            ledger.append("checkpoint", {"ordinal": ordinal, "step": step, "folder": folder_of(ordinal, step), "sha256": "x"}, 3.0)
            if values := SCORES[ordinal, step]:
                figures = dict(zip(("dev/context/Answer@10", "dev/context/Document@1"), values, strict=True))
                ledger.append("scores", {"ordinal": ordinal, "step": step, "split": "dev", "figures": figures, "per_query": "p"}, 4.0)
        if ordinal in ENDS:
            ledger.append("ended", {"ordinal": ordinal, "status": ENDS[ordinal]}, 5.0)
    for name in ("shipped-1", "candidate-1", "candidate-2"):
        write_checkpoint(tmp_path / "soup" / name)
    (tmp_path / "trials" / trial_id("s", 0) / "step-000060.damaged").mkdir()
    shipped = {"what": "shipped", "key": "1", "folder": "soup/shipped-1", "decision": "soup", "reason": "", "metrics": {},
               "ingredients": [{"folder": folder_of(0, 40), "weight": 1.0}],
               "rejected": {"folder": "soup/candidate-2", "ingredients": [], "metrics": {}}}  # fmt: skip
    ledger.append("soup", shipped, 6.0)
    ledger.append("closed", {"status": "interrupted"}, 7.0)
    return tmp_path


def folder_of(ordinal: int, step: int) -> str:
    return f"trials/{trial_id('s', ordinal)}/step-{step:06d}"


def write_checkpoint(folder: Path) -> None:
    (folder / "state").mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(MANIFEST))
    (folder / "model.safetensors").write_bytes(b"w" * 1000)
    (folder / "state" / "state.safetensors").write_bytes(b"s" * 2000)


def told(sweep: Path, *options: str) -> dict:
    return json.loads(stockpot("gc", sweep, "--json", *options).stdout)


def test_a_dry_run_says_what_goes_and_why_the_rest_stays_and_touches_nothing(sweep):
    before = sorted(sweep.rglob("*"))
    found = told(sweep, "--dry-run", "--keep", "1")
    assert sorted(sweep.rglob("*")) == before and not found["deleted"]
    kept = {item["folder"]: item["reason"] for item in found["kept"]}
    assert kept == {
        folder_of(0, 20): "on the Pareto front of dev",
        folder_of(0, 40): "an ingredient of what shipped or was certified",
        folder_of(1, 40): "on the Pareto front of dev",
        folder_of(2, 40): "on the Pareto front of dev",
        folder_of(4, 20): "its trial is running",
        folder_of(5, 20): "not evaluated yet: --resume does",
        "soup/shipped-1": "shipped",
        "soup/candidate-2": "the soup that the verdict was about",
    }
    gone = {item["folder"]: (item["what"], item["reason"]) for item in found["removable"]}
    dull = "neither among the best nor on the Pareto front"
    resumes = "its trial has ended: nothing resumes from it"
    assert gone == {
        folder_of(1, 20): ("checkpoint", dull),
        folder_of(2, 20): ("checkpoint", dull),
        folder_of(3, 20): ("checkpoint", "its trial failed"),
        **{f"{folder_of(*key)}/state": ("optimiser state", resumes) for key in ((0, 20), (0, 40), (1, 40), (2, 40), (5, 20))},
        "soup/candidate-1": ("soup", "did not ship"),
        f"trials/{trial_id('s', 0)}/step-000060.damaged": ("left over", "no part of any checkpoint"),
    }
    assert found["bytes"] == sum(item["bytes"] for item in found["removable"])


def test_keeping_more_keeps_what_a_soup_may_want(sweep):
    reasons = {item["folder"]: item["reason"] for item in told(sweep, "--dry-run", "--keep", "4")["kept"]}
    assert reasons[folder_of(1, 20)].startswith("among the best by") and reasons[folder_of(2, 20)].startswith("among the best by")


def test_deleting_leaves_the_record_and_a_second_call_finds_nothing(sweep):
    stockpot("checkpoint", "pin", sweep / folder_of(2, 20))
    found = told(sweep, "--yes", "--keep", "1")
    assert found["deleted"] and not (sweep / folder_of(1, 20)).exists() and not (sweep / "soup/candidate-1").exists()
    assert (sweep / folder_of(2, 20) / "state").exists(), "a pinned checkpoint stays whole"
    assert (sweep / folder_of(4, 20) / "state").exists(), "its trial will resume from it"
    state = Ledger.open(sweep).state()
    checkpoint = state.trials[1].checkpoints[20]
    assert checkpoint.removed.startswith("gc: neither") and checkpoint.scores["dev"].figures["dev/context/Answer@10"] == 0.3
    assert not state.trials[1].checkpoints[40].removed
    listed = {trial["ordinal"]: trial["checkpoints"] for trial in json.loads(stockpot("status", sweep, "--json").stdout)["trials"]}
    assert listed[1] == [str(sweep / folder_of(1, 40))]
    again = told(sweep, "--yes", "--keep", "1")
    assert again["removable"] == []
    stockpot("checkpoint", "unpin", sweep / folder_of(2, 20))
    assert folder_of(2, 20) in {item["folder"] for item in told(sweep, "--dry-run", "--keep", "1")["removable"]}


def test_a_folder_deleted_by_hand_is_written_down(sweep):
    import shutil

    shutil.rmtree(sweep / folder_of(1, 40))
    told(sweep, "--yes", "--keep", "1")
    assert "its folder is gone" in Ledger.open(sweep).state().trials[1].checkpoints[40].removed


def test_nothing_is_deleted_without_a_yes_or_while_a_driver_works(sweep):
    before = sorted(sweep.rglob("step-*"))
    refused = stockpot("gc", sweep, check=False, input="n\n")
    assert refused.returncode == 1 and "to delete" in refused.stdout and "Traceback" not in refused.stderr
    lease = Lease.acquire(sweep, "driver", time.time())
    live = stockpot("gc", sweep, "--yes", check=False)
    assert live.returncode == 1 and "another driver works on this sweep" in live.stderr
    assert told(sweep, "--dry-run")["removable"]
    lease.release()
    assert sorted(sweep.rglob("step-*")) == before


def test_under_pbt_what_others_may_go_on_from_stays_until_the_sweep_is_finished(sweep):
    state = Ledger.open(sweep).state()
    state.sweep["config"]["scheduler"] = {"kind": "pbt", "perturb_every": 20}
    found = survey(sweep, state, keep=1)
    removable, kept = {item.folder for item in found.removable}, {item.folder: item.reason for item in found.kept}
    for key in ((1, 20), (2, 20), (3, 20)):
        assert kept[folder_of(*key)] == "other trials may go on from it"
    assert not [name for name in removable if "step-000020" in name], "nor their states"
    assert f"{folder_of(1, 40)}/state" in removable, "nobody goes on from the last step"
    state.status = "finished"
    removable = {item.folder for item in survey(sweep, state, keep=1).removable}
    assert folder_of(1, 20) in removable and f"{folder_of(0, 20)}/state" not in removable
