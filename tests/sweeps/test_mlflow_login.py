"""A tracking server under a password: who may not log in learns it before anything starts, and no secret is told."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from corpora.errors import InputError
from sweeps import config, figures, mlflow_store
from sweeps.projector import sync
from tests.stockpot.command import stockpot
from tests.sweeps import made_ledgers as made
from tests.sweeps.mlflow_servers import TeamServer
from tests.sweeps.tiny_sweep import sweep_file


@pytest.fixture(scope="module")
def team(postgres, empty_postgres, tmp_path_factory):
    """MLflow's basic auth before PostgreSQL."""
    place = tmp_path_factory.mktemp("team")
    with TeamServer(place, postgres.database(empty_postgres), postgres.environment, secrets.token_hex(12)) as server:
        yield server


@pytest.fixture
def login(team, monkeypatch):
    """Sets what the environment holds; None removes it."""

    def use(user: str | None, password: str | None) -> None:
        for name, value in (("USERNAME", user), ("PASSWORD", password)):
            monkeypatch.delenv(f"MLFLOW_TRACKING_{name}", raising=False)
            if value is not None:
                monkeypatch.setenv(f"MLFLOW_TRACKING_{name}", value)

    return use


def test_who_may_log_in_is_told_nothing(team, login):
    login("admin", team.password)
    said: list[str] = []
    mlflow_store.check_login(team.url, said.append)
    assert said == []


@pytest.mark.parametrize(("user", "password", "told"), [
    ("admin", "not-this-one", r"refuses the user 'admin' or its password: set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"),
    (None, None, "asks for a user and a password: set MLFLOW_TRACKING_USERNAME"),
])  # fmt: skip
def test_a_refused_login_is_an_error_without_the_password(team, login, user, password, told):
    login(user, password)
    with pytest.raises(InputError, match=told) as refused:
        mlflow_store.check_login(team.url, lambda line: None)
    assert "not-this-one" not in str(refused.value)


@pytest.mark.parametrize("answers", [False, True])
def test_a_server_that_does_not_answer_is_only_a_warning(monkeypatch, answers):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    said: list[str] = []
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if answers:
            silent.listen()  # takes the connection, and never says a word
        mlflow_store.check_login(f"http://127.0.0.1:{silent.getsockname()[1]}", said.append)
    assert len(said) == 1 and "does not answer: " in said[0] and "the sweep goes on without" in said[0]


def test_a_wrong_password_ends_the_sweep_before_it_starts(team, tmp_path):
    sweep, out = sweep_file(tmp_path, mlflow={"uri": team.url}), tmp_path / "out"
    wrong = {"MLFLOW_TRACKING_USERNAME": "admin", "MLFLOW_TRACKING_PASSWORD": "not-this-one"}
    done = stockpot("sweep", sweep, "--out", out, check=False, env=wrong)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "mlflow.uri" in done.stderr and "refuses the user 'admin'" in done.stderr and "not-this-one" not in done.stderr
    assert not (out / "ledger").exists() and not (out / "store").exists()


@pytest.mark.parametrize(("uri", "cure"), [
    ("http://me:geheimnis@mlflow.internal:5000", "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"),
    ("postgresql://me:geheimnis@db.internal/mlflow", "PGUSER and PGPASSWORD"),
    ("postgresql://db.internal/mlflow?password=geheimnis", "PGUSER and PGPASSWORD"),
])  # fmt: skip
def test_a_password_inside_a_uri_is_refused_and_not_repeated(tmp_path, uri, cure):
    with pytest.raises(InputError, match="mlflow.uri: .*holds a password, which the ledger would show") as refused:
        config.load(sweep_file(tmp_path, mlflow={"uri": uri}))
    assert cure in str(refused.value) and "geheimnis" not in str(refused.value)
    made.begin(tmp_path / "sweep")
    done = stockpot("sync", tmp_path / "sweep", "--uri", uri, check=False)
    assert done.returncode == 2 and "--uri: " in done.stderr and "geheimnis" not in done.stderr + done.stdout


def test_a_projection_under_a_password_is_whole_and_tells_no_secret(team, login, postgres, tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "sweep_figures", lambda state, folder: ())
    login("admin", team.password)
    folder = tmp_path / "sweep"
    ledger = made.begin(folder)
    made.trial(ledger, 0)
    made.ship(ledger, folder)
    made.close(ledger)
    code = "import sys; from sweeps.projector import sync; print(sync(sys.argv[1], sys.argv[2]))"
    done = subprocess.run([sys.executable, "-c", code, folder, team.url], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made.assert_equal_to_ledger(ledger.state(), team.url)
    hidden = [team.password, postgres.password]
    assert not any(secret in text for secret in hidden for text in (done.stdout, done.stderr, *_command_lines()))
    for file in [path for place in (folder, team.folder / "artifacts") for path in place.rglob("*") if path.is_file()]:
        assert not any(secret.encode() in file.read_bytes() for secret in hidden), file
    login("admin", "not-this-one")
    with pytest.raises(Exception) as refused:
        sync(folder, team.url)
    assert "not-this-one" not in str(refused.value) and team.password not in str(refused.value)


def _command_lines() -> list[str]:
    """Of every process of this machine."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            found.append(Path(f"/proc/{pid}/cmdline").read_text(errors="replace"))
        except OSError:
            continue
    return found
