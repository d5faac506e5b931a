"""What a run needs around it, started for it alone: a cluster whose node dies, or a tracking server that does."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sweeps import mlflow_store
from tests.cluster.live import live_cluster
from tests.faults.run import KINDS, NODE
from tests.sweeps.mlflow_servers import TeamServer
from tests.sweeps.postgres import Postgres


@contextlib.contextmanager
def surroundings(seed: int, place: Path, postgres: Callable[[], tuple[Postgres, str]]) -> Iterator[dict[str, Any]]:
    """Keywords of `Run`. `postgres` gives a running PostgreSQL and the URI of an empty MLflow database in it."""
    kind = KINDS[seed % len(KINDS)]
    if kind == "raylet":
        with live_cluster([NODE]) as cluster:
            yield {"cluster": cluster}
    elif kind.startswith("MLflow"):
        if kind == "MLflow on PostgreSQL":
            running, empty = postgres()
            database, environment = running.database(empty), running.environment
        else:
            database, environment = mlflow_store.default_uri(place), {}
            mlflow_store.open_client(database).search_experiments()
        with TeamServer(place, database, environment) as server:
            yield {"server": server}
    else:
        yield {}
