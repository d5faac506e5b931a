"""kill -9 of a worker, a raylet, the driver and MLflow's server at seeded moments: five of the hundred runs of benchmarks/faults.py."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from sweeps import mlflow_store
from tests.cluster.live import live_cluster
from tests.faults.run import KINDS, NODE, Run
from tests.faults.world import World
from tests.sweeps.mlflow_servers import TeamServer


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> World:
    return World.make(tmp_path_factory.mktemp("faults"))


@pytest.mark.parametrize("seed", range(len(KINDS)), ids=KINDS)
def test_nothing_is_lost_doubled_or_left_behind(world, tmp_path, request, seed):
    with contextlib.ExitStack() as running:
        run = Run(world, seed, *_around(request, running, tmp_path, KINDS[seed]))
        run.go()
    assert run.blows


def _around(request: pytest.FixtureRequest, running: contextlib.ExitStack, place: Path, kind: str) -> tuple:
    """The cluster and the tracking server that the run needs."""
    if kind == "raylet":
        return running.enter_context(live_cluster([NODE])), None
    if kind == "MLflow on SQLite":
        mlflow_store.open_client(mlflow_store.default_uri(place)).search_experiments()
        return None, running.enter_context(TeamServer(place, mlflow_store.default_uri(place)))
    if kind == "MLflow on PostgreSQL":
        postgres = request.getfixturevalue("postgres")
        database = postgres.database(request.getfixturevalue("empty_postgres"))
        return None, running.enter_context(TeamServer(place, database, postgres.environment))
    return None, None
