"""What the adapter does when workers, storage or room for evaluations are missing; whole sweeps test the rest (tests/faults)."""

from __future__ import annotations

import errno
from types import SimpleNamespace

import pytest
from ray import cloudpickle
from ray.exceptions import RayTaskError

from corpora.errors import StockpotError
from sweeps import tune_adapter
from sweeps.conductor import Next
from sweeps.config import Resources
from sweeps.tune_adapter import ConductedScheduler, ConductedSearch


class Conductor:
    """Remembers what it is told."""

    def __init__(self, is_idle: bool = False, is_done: bool = False):
        self.is_idle, self.is_done, self.stopping, self.told = is_idle, is_done, False, []
        self.config = SimpleNamespace(resources=Resources(slots=2))

    def next_trial(self) -> Next:
        return Next.DONE

    def retried(self, ordinal: int, reason: str) -> None:
        self.told.append(("retried", ordinal, reason))

    def given_back(self, ordinal: int, reason: str) -> None:
        self.told.append(("given back", ordinal, reason))

    def ended(self, ordinal: int, status: str, reason: str) -> None:
        self.told.append((status, ordinal, reason))


class Controller:
    """What the adapter touches of Tune's."""

    def __init__(self, cached: int = 0, resetting: set | None = None):
        self._actor_cache, self._resetting_trials, self.freed = SimpleNamespace(num_cached_objects=cached), resetting or set(), 0
        self._stopping_actors, self.looks = {}, 0
        self._actor_manager = SimpleNamespace(next=self._next)

    def _cleanup_cached_actors(self, force_all: bool) -> None:
        self.freed += force_all
        self._stopping_actors = {"one": 0.0}

    def _next(self, timeout: float) -> None:
        self.looks += 1

    def _cleanup_stopping_actors(self) -> None:
        """Kills those that do not end by themselves."""

    def get_trials(self) -> list:
        return []


class Trial:
    """A Tune trial that failed by `cause`, as Tune writes it down."""

    def __init__(self, folder, cause: Exception, status: str = "ERROR", restarts: bool = True):
        self.config, self.status, self.should_recover = {"ordinal": 3}, status, lambda: restarts
        self.pickled_error_file = str(folder / "error.pkl")
        (folder / "error.pkl").write_bytes(cloudpickle.dumps(RayTaskError("step", str(cause), cause)))


def scheduler(conductor: Conductor) -> ConductedScheduler:
    return ConductedScheduler(conductor, lambda ordinal, result: None, lambda: None)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_a_disk_that_takes_no_more_is_no_trials_fault(tmp_path, number):
    conductor = Conductor()
    with pytest.raises(StockpotError, match=r"trial 3 could not write \(.*/full.*make room, then go on with --resume"):
        scheduler(conductor).on_trial_error(Controller(), Trial(tmp_path, OSError(number, "text", "/full/step-000002")))
    assert not conductor.told


@pytest.mark.parametrize(("status", "restarts", "told"), [
    ("ERROR", True, "retried"),  # Tune queues it again after this
    ("PENDING", True, "given back"),  # Tune gives it up: its warm worker died while it took the trial over
    ("RUNNING", False, "failed"),
])  # fmt: skip
def test_a_trial_whose_worker_died_goes_on_until_its_restarts_are_used_up(tmp_path, status, restarts, told):
    conductor, trial = Conductor(), Trial(tmp_path, ValueError("no\nsuch thing"), status, restarts)
    controller = Controller(cached=1, resetting={trial})
    scheduler(conductor).on_trial_error(controller, trial)
    assert conductor.told == [(told, 3, "ValueError: such thing")]
    assert not controller._resetting_trials and controller.freed == 1


def test_the_search_is_over_only_when_no_trial_may_come_back():
    def suggested(conductor: Conductor):
        return ConductedSearch(conductor, lambda trial: {}, lambda: None, lambda: None).suggest("x")

    assert suggested(Conductor(is_idle=False)) is None
    assert suggested(Conductor(is_idle=True)) == ConductedSearch.FINISHED


@pytest.mark.parametrize(("cluster", "idle", "done", "freed"), [
    ({"CPU": 2.0}, True, False, 1),
    ({"CPU": 2.0}, False, False, 0),
    ({"CPU": 3.0}, True, False, 0),
    ({}, True, False, 1),
    ({"CPU": 3.0}, False, True, 1),
])  # fmt: skip
def test_warm_workers_let_go_of_their_cpus_where_evaluations_would_wait_for_ever(monkeypatch, cluster, idle, done, freed):
    monkeypatch.setattr(tune_adapter.ray, "cluster_resources", lambda: cluster)
    controller = Controller(cached=2)
    chosen = scheduler(Conductor(idle, done))
    chosen.make_room()  # before any trial
    chosen.on_trial_add(SimpleNamespace(_tune_controller=controller), None)
    assert chosen.choose_trial_to_run(controller) is None
    assert controller.freed == freed
    assert controller.looks == (freed and not done), "Tune itself looks while trials run or end"
