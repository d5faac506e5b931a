"""A new SQLite database of MLflow's: the forty migrations that make its tables take seconds, so a user's are made once and copied."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

from corpora.files import scratch_folder, write_atomically


def create_database(file: Path) -> None:
    """`file` whole or not at all: half of the migrations would leave what no later start can repair. One that is there stays."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(file) as scratch:
        made = scratch / file.name
        if empty := _kept():
            shutil.copyfile(empty, made)
        else:
            _migrate(made)
        _own(made, file.parent / "mlartifacts")
        try:
            os.link(made, file)
        except FileExistsError:
            pass  # another driver was faster
        except OSError:  # a file system without links
            if not file.exists():
                os.replace(made, file)


def _kept() -> Path | None:
    """This user's empty database of the installed MLflow, made where it is missing or damaged; None where none can be kept."""
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        file = cache / "stockpot" / f"mlflow-{version('mlflow')}.db"
        if not _is_whole(file):
            write_atomically(file, _migrate)
    except (OSError, RuntimeError):  # a home that is read-only, or that nobody has
        return None
    return file


def _is_whole(file: Path) -> bool:
    if not file.is_file():
        return False
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as database:
            checked = database.execute("PRAGMA quick_check").fetchall()
            return checked == [("ok",)] and bool(database.execute("SELECT version_num FROM alembic_version").fetchall())
    except sqlite3.Error:
        return False


def _migrate(file: Path) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{file}", registry_uri=f"sqlite:///{file}")
    client.search_experiments(max_results=1)
    client._tracking_client.store.engine.dispose()


def _own(database: Path, artifacts: Path) -> None:
    """MLflow's experiment `Default`, which every database has, keeps its artifacts beside it, wherever the tables were made."""
    with closing(sqlite3.connect(database)) as own, own:
        own.execute("UPDATE experiments SET artifact_location = ? WHERE name = 'Default'", [f"{artifacts.as_uri()}/0"])
