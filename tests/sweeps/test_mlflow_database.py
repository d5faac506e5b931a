"""A new database is a copy of the user's empty one, which is made, or made again, where it is missing or damaged."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from sweeps import mlflow_database, mlflow_store


@pytest.fixture
def migrations(tmp_path, monkeypatch) -> list:
    """What was migrated, beside a cache of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    mlflow_store.configure()
    made, migrate = [], mlflow_database._migrate
    monkeypatch.setattr(mlflow_database, "_migrate", lambda file: (made.append(file), migrate(file)))
    return made


def works(file) -> bool:
    return [one.name for one in mlflow_store.open_client(f"sqlite:///{file}").search_experiments()] == ["Default"]


def test_tables_are_made_once_and_again_when_they_are_damaged(tmp_path, migrations):
    mlflow_database.create_database(tmp_path / "a" / "mlflow.db")
    mlflow_database.create_database(tmp_path / "b" / "mlflow.db")
    assert len(migrations) == 1 and works(tmp_path / "a" / "mlflow.db") and works(tmp_path / "b" / "mlflow.db")
    with closing(sqlite3.connect(tmp_path / "b" / "mlflow.db")) as database:
        [(place,)] = database.execute("SELECT artifact_location FROM experiments").fetchall()
    assert place == (tmp_path / "b" / "mlartifacts" / "0").as_uri()
    [kept] = (tmp_path / "cache" / "stockpot").iterdir()
    kept.write_bytes(kept.read_bytes()[:5000])
    mlflow_database.create_database(tmp_path / "c" / "mlflow.db")
    assert len(migrations) == 2 and works(tmp_path / "c" / "mlflow.db")
    assert [path.name for path in tmp_path.glob("[abc]/*")] == ["mlflow.db"] * 3


def test_without_a_place_to_keep_it_each_is_made(tmp_path, migrations):
    (tmp_path / "cache").write_text("no folder")
    mlflow_database.create_database(tmp_path / "mlflow.db")
    assert len(migrations) == 1 and works(tmp_path / "mlflow.db")


def test_one_that_is_there_stays(tmp_path, migrations, monkeypatch):
    (tmp_path / "mlflow.db").write_text("another driver's")
    mlflow_database.create_database(tmp_path / "mlflow.db")

    def no_links(*_):
        raise OSError("no links here")

    monkeypatch.setattr(mlflow_database.os, "link", no_links)
    mlflow_database.create_database(tmp_path / "mlflow.db")
    assert (tmp_path / "mlflow.db").read_text() == "another driver's"
    mlflow_database.create_database(tmp_path / "new.db")
    assert works(tmp_path / "new.db")
