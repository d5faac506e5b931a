"""Fixtures that every room's tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MACHINES = ("cluster", "faults")
"""Rooms whose tests start and kill whole clusters: one at a time."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Under `pytest -n 2` a room's tests stay in one process, which makes what they share once."""
    from xdist.scheduler import LoadScopeScheduling

    class ByRoom(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            room = Path(nodeid.partition("::")[0]).parts[1]
            return "machines" if room in MACHINES else room

    return ByRoom(config, log)


@pytest.fixture(scope="session")
def golden() -> Path:
    """The worked values of DESIGN section 6, the project's own copy."""
    return Path(__file__).parent / "golden"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real corpora and publishers' files, where they lie beside the checkout."""
    folder = ROOT.parent / "shared"
    if not (folder / "corpora").is_dir():
        pytest.skip("../shared is absent: the real corpora are not part of the repository")
    return folder


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL cluster of the tests' own."""
    from tests.sweeps.postgres import running_postgres, server_programs

    programs = server_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (Debian: postgresql)")
    with running_postgres(programs) as running:
        yield running


@pytest.fixture(scope="session")
def empty_postgres(postgres) -> str:
    """The URI of a database with MLflow's tables and nothing in them, to be copied."""
    from sweeps import mlflow_store

    uri = postgres.database()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in postgres.environment.items():
            patch.setenv(name, value)
        mlflow_store.open_client(uri).search_experiments()
    return uri
