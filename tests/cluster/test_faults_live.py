"""Machines that die, leave, or are cut off while a sweep runs on them: it ends as if nothing had happened.

A real Ray cluster of four machines that share no disk and no address (tests/cluster/machines.py). Trials wait after their
first checkpoint until the fault has struck, so that it always strikes mid-trial.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter

import pytest

from sweeps.comparison import comparable
from sweeps.ledger import Ledger
from sweeps.ledger_state import LedgerState
from tests.cluster.descriptions import ROOT
from tests.cluster.machines import HEAD, Machine, Network, network, possible, until
from tests.faults.world import write_splits
from tests.sweeps.tiny_sweep import LIGHT, sweep_file

pytestmark = [
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not possible(), reason="namespaces with networks of their own need root and iproute2"),
]
TRIAL = "ray::TuneTrial"


class Faults:
    """The cluster, the sweep, and its driver on the head."""

    def __init__(self, cluster: Network):
        self.cluster, self.out, self.kept = cluster, cluster.disk / "tiny", cluster.folder / "kept"
        self.mlflow = f"sqlite:///{cluster.folder}/mlflow.db"
        (cluster.folder / "held").mkdir()
        self.sweep = sweep_file(
            cluster.folder,
            corpora=write_splits(cluster.folder),
            trainer=f"{ROOT}/tests/cluster/held_trainer.py:Held",
            search={"sampler": "random", "trials": 3, "seed": 0},
            storage=self.kept.as_uri(),
            mlflow={"uri": self.mlflow},
            **LIGHT,
        )
        self.driver: subprocess.Popen | None = None

    @property
    def log(self) -> str:
        return (self.cluster.folder / "driver.log").read_text()

    def start(self, *options: str) -> None:
        """A sweep of its own, or with `--resume` the one before."""
        if "--resume" not in options:
            for place in (self.out, self.kept, self.cluster.folder / "held"):
                shutil.rmtree(place, ignore_errors=True)
            (self.cluster.folder / "held").mkdir()
        with open(self.cluster.folder / "driver.log", "w") as log:
            command = [sys.executable, "-m", "stockpot", "sweep", str(self.sweep), "--out", str(self.out), *options]
            self.driver = self.cluster.on_head("nice", "-n", "19", *command, stdout=log, stderr=subprocess.STDOUT, cwd=ROOT)

    def hold(self) -> None:
        (self.cluster.folder / "hold").touch()

    def let_go(self) -> None:
        (self.cluster.folder / "hold").unlink()

    def held(self) -> list[tuple[Machine, str]]:
        """The machines on which trials wait, and those trials."""
        assert self.driver.poll() is None, self.log
        found = [path.name.rpartition(".") for path in (self.cluster.folder / "held").iterdir()]
        return [(self.cluster.worker_at(address), trial) for address, _, trial in found]

    def until_held(self) -> tuple[Machine, str]:
        """Both slots hold a trial that waits: the first of them."""
        until(lambda: len(self.held()) == 2, lambda: self.log)
        return self.held()[0]

    def until_held_elsewhere(self, machine: Machine, trial: str) -> None:
        until(lambda: any(held == trial and place is not machine for place, held in self.held()), lambda: self.log)

    def ended(self, alone: Machine | None = None) -> LedgerState:
        """The sweep's ledger, once it has ended well; no trial is left on any machine, but one that stands `alone`."""
        until(lambda: self.driver.poll() is not None, lambda: self.log, patience=600)
        assert self.driver.returncode == 0, self.log
        until(lambda: not any(each.runs(TRIAL) for each in self.cluster.workers if each is not alone))
        return Ledger.open(self.out).state()

    def runs(self, state: LedgerState) -> Counter:
        """MLflow's runs of the sweep, by trial; the parent is None's."""
        from mlflow import MlflowClient

        client = MlflowClient(self.mlflow)
        experiment = client.get_experiment_by_name("tiny")
        found = client.search_runs([experiment.experiment_id], f"tags.`stockpot.sweep_id` = '{state.sweep['sweep_id']}'")
        return Counter(run.data.tags.get("stockpot.ordinal") for run in found)

    def node_id(self, machine: Machine) -> str:
        ask = (
            "import sys; from ray._raylet import GcsClient; "
            f"nodes = GcsClient(address='{HEAD}:6379').get_all_node_info().values(); "
            "print(*(node.node_id.hex() for node in nodes if node.node_manager_address == sys.argv[1]))"
        )
        asked = self.cluster.on_head(sys.executable, "-c", ask, machine.address, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        told, said = asked.communicate(timeout=120)
        assert told.strip(), said
        return told.strip()


@pytest.fixture(scope="module")
def running():
    with network() as cluster:
        cluster.start_head()
        cluster.until_up()
        yield Faults(cluster)


@pytest.fixture
def faults(running: Faults):
    """With three workers, whatever happened before."""
    while len(running.cluster.workers) < 3:
        running.cluster.add_worker()
    running.cluster.until_up()
    return running


@pytest.fixture(scope="module")
def undisturbed(running: Faults) -> dict:
    for _ in range(3):
        running.cluster.add_worker()
    running.cluster.until_up()
    running.start()
    state = running.ended()
    assert [len(trial.checkpoints) for trial in state.trials.values()] == [2, 2, 2]
    return comparable(state)


def is_whole(faults: Faults, state: LedgerState, undisturbed: dict) -> None:
    assert comparable(state) == undisturbed
    assert faults.runs(state) == Counter([None, "0", "1", "2"])


def test_a_machine_that_loses_power(faults: Faults, undisturbed: dict):
    faults.hold()
    faults.start()
    machine, trial = faults.until_held()
    faults.cluster.pull_plug(machine)
    (faults.cluster.folder / "held" / f"{machine.address}.{trial}").unlink()
    faults.until_held_elsewhere(machine, trial)  # it goes on from its checkpoint, which storage has
    faults.let_go()
    state = faults.ended()
    is_whole(faults, state, undisturbed)
    assert sum(len(each.retries) for each in state.trials.values()) == 1


def test_a_machine_that_is_cut_off_and_comes_back(faults: Faults, undisturbed: dict):
    """Its trial goes on there, alone, while another machine runs it again: both keep the same bytes."""
    faults.hold()
    faults.start()
    machine, trial = faults.until_held()
    faults.cluster.cable(machine, "down")
    faults.until_held_elsewhere(machine, trial)
    faults.let_go()
    state = faults.ended(alone=machine)
    is_whole(faults, state, undisturbed)
    faults.cluster.cable(machine, "up")
    machine.process.wait(300)  # told that it was given up, it ends by itself, with all that ran on it
    faults.cluster.workers.remove(machine)


def test_a_machine_that_is_taken_away_with_notice(faults: Faults, undisturbed: dict):
    faults.hold()
    faults.start()
    machine, trial = faults.until_held()
    drained = faults.cluster.on_head(
        "ray", "drain-node", f"--address={HEAD}:6379", f"--node-id={faults.node_id(machine)}", "--reason=DRAIN_NODE_REASON_PREEMPTION",
        "--reason-message=spot", "--deadline-remaining-seconds=600", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    said, _ = drained.communicate(timeout=120)
    assert drained.returncode == 0, said
    faults.let_go()
    until(lambda: any(each.trial_id == trial and each.has_ended for each in Ledger.open(faults.out).state().trials.values()))
    faults.cluster.pull_plug(machine)
    state = faults.ended()
    is_whole(faults, state, undisturbed)
    assert not next(each for each in state.trials.values() if each.trial_id == trial).retries  # within its notice it came to its end


def test_a_head_that_dies_with_its_disk(faults: Faults, undisturbed: dict):
    """The driver dies with it. Another head, without a file of the old one's, resumes from storage."""
    faults.hold()
    faults.start()
    _, trial = faults.until_held()
    before = until(lambda: (faults.kept / "ledger" / "events").is_dir() and Ledger.open(faults.out).state().sweep["sweep_id"])
    until(lambda: len(list(faults.kept.glob("trials/*/*/_whole.json"))) == 2)
    for machine in (faults.cluster.head, *list(faults.cluster.workers)):
        faults.cluster.pull_plug(machine)  # without a head, Ray's other nodes end too
    shutil.rmtree(faults.out)
    faults.let_go()
    faults.cluster.start_head()
    faults.cluster.until_up()
    for _ in range(3):
        faults.cluster.add_worker()
    faults.cluster.until_up()
    faults.start("--resume")
    state = faults.ended()
    assert state.sweep["sweep_id"] == before and len(state.resumed) == 1
    is_whole(faults, state, undisturbed)
