"""What the adapter does when storage or room for evaluations is missing; whole sweeps test the rest (tests/faults)."""

from __future__ import annotations

import errno
from types import SimpleNamespace

import pytest

from corpora.errors import StockpotError
from sweeps import tune_adapter
from sweeps.config import Resources
from sweeps.tune_adapter import ConductedScheduler


class Conductor:
    """Remembers what it is told."""

    def __init__(self, is_idle: bool = False):
        self.is_idle, self.stopping, self.told = is_idle, False, []
        self.config = SimpleNamespace(resources=Resources(slots=2))

    def retried(self, ordinal: int, reason: str) -> None:
        self.told.append((ordinal, reason))


def scheduler(conductor: Conductor) -> ConductedScheduler:
    return ConductedScheduler(conductor, lambda ordinal, result: None, lambda: None)


def trial(cause: Exception) -> SimpleNamespace:
    return SimpleNamespace(config={"ordinal": 3}, get_error=lambda: SimpleNamespace(cause=cause), should_recover=lambda: True)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_a_disk_that_takes_no_more_is_no_trials_fault(number):
    conductor = Conductor()
    with pytest.raises(StockpotError, match=r"trial 3 could not write \(.*/full.*make room, then go on with --resume"):
        scheduler(conductor).on_trial_error(None, trial(OSError(number, "text", "/full/step-000002")))
    assert not conductor.told


def test_any_other_error_is_its_trials(monkeypatch):
    conductor = Conductor()
    scheduler(conductor).on_trial_error(None, trial(OSError(errno.ENOENT, "No such file", "x")))
    scheduler(conductor).on_trial_error(None, trial(ValueError("bad")))
    assert [ordinal for ordinal, _ in conductor.told] == [3, 3]


@pytest.mark.parametrize(("cluster", "idle", "freed"), [
    ({"CPU": 2.0}, True, True),
    ({"CPU": 2.0}, False, False),
    ({"CPU": 3.0}, True, False),
    ({}, True, True),
])  # fmt: skip
def test_warm_workers_let_go_of_their_cpus_where_evaluations_would_wait_for_ever(monkeypatch, cluster, idle, freed):
    monkeypatch.setattr(tune_adapter.ray, "cluster_resources", lambda: cluster)
    calls: list[bool] = []
    controller = SimpleNamespace(
        _actor_cache=SimpleNamespace(num_cached_objects=2), _cleanup_cached_actors=lambda force_all: calls.append(force_all), get_trials=lambda: [],
    )  # fmt: skip
    assert scheduler(Conductor(idle)).choose_trial_to_run(controller) is None
    assert calls == [True] * freed
