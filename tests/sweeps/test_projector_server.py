"""A real `mlflow server`, on SQLite and on PostgreSQL, killed in the middle of a projection and started again: nothing lost, nothing doubled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from corpora.errors import InputError
from sweeps import figures, mlflow_store
from sweeps.projector import BackgroundProjector, Projector, sync
from sweeps.ui import free_port, ui
from tests.sweeps import made_ledgers as made
from tests.sweeps.mlflow_servers import TeamServer


@pytest.fixture(params=["sqlite", "postgresql"])
def server(tmp_path, request):
    place = tmp_path / "server"
    if request.param == "sqlite":
        uri, environment = mlflow_store.default_uri(place), {}
        mlflow_store.open_client(uri).search_experiments()
    else:
        postgres = request.getfixturevalue("postgres")
        uri, environment = postgres.database(request.getfixturevalue("empty_postgres")), postgres.environment
    with TeamServer(place, uri, environment) as started:
        yield started


def test_a_server_that_is_killed_in_the_middle_loses_and_doubles_nothing(server, tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "sweep_figures", lambda state, folder: ())
    folder = tmp_path / "sweep"
    ledger = made.begin(folder)
    heard: list[str] = []
    background = BackgroundProjector(folder, server.url, warn=heard.append, interval=0.02)
    for ordinal in range(3):
        made.trial(ledger, ordinal, steps=(20, 40))
        if ordinal == 1:
            deadline = time.monotonic() + 60
            while not background._projector.places()["runs"] and time.monotonic() < deadline:
                time.sleep(0.01)
            server.stop(signal.SIGKILL)
    made.ship(ledger, folder)
    made.close(ledger)
    deadline = time.monotonic() + 60
    while not heard and time.monotonic() < deadline:
        time.sleep(0.05)
    server.start()
    left = background.close(patience=120)
    assert (left.pending, left.error) == ([], "")
    assert len(heard) == 2 and "the sweep goes on" in heard[0] and "answers again" in heard[1]
    found = made.assert_equal_to_ledger(ledger.state(), server.url)
    assert found["parent"].info.run_id == left.places["parent_run_id"]
    (version,) = found["client"].search_model_versions("name = 'made'")
    files = found["client"].list_artifacts(version.run_id, "")
    assert {file.path for file in files} >= {"config.json", "results.json", "soup.json"}
    assert len(list((tmp_path / "server").rglob("model.safetensors"))) == 1
    before = {trial: run.info.run_id for trial, (run, _) in found["trials"].items()}
    assert sync(folder, server.url)["runs"] == before
    made.assert_equal_to_ledger(ledger.state(), server.url)


def test_a_server_that_hangs_holds_the_driver_no_longer_than_its_patience(tmp_path, monkeypatch):
    import socket

    ledger = made.begin(tmp_path)
    made.close(ledger)
    with socket.socket() as silent:  # accepts and never answers
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        background = BackgroundProjector(tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}")
        begun = time.monotonic()
        left = background.close(patience=0.5)
        assert time.monotonic() - begun < 5
    assert left.pending == ["the sweep's page"] and left.error


def test_the_ui_serves_the_sweeps_store_and_stops_on_ctrl_c(tmp_path, monkeypatch):
    made.begin(tmp_path)
    monkeypatch.setattr(figures, "sweep_figures", lambda state, folder: ())
    Projector(tmp_path).update()
    taken = free_port("127.0.0.1")
    import socket

    with socket.socket() as other:
        other.bind(("127.0.0.1", taken))
        other.listen()
        with pytest.raises(InputError, match=f"--port: {taken} is taken on 127.0.0.1"):
            ui(tmp_path, port=taken)
        code = "import sys; from pathlib import Path; from sweeps import ui; ui.PORT = int(sys.argv[2]); ui.ui(Path(sys.argv[1]))"
        process = subprocess.Popen([sys.executable, "-c", code, tmp_path, str(taken)], stderr=subprocess.PIPE, text=True)
        lines = [process.stderr.readline() for _ in range(3)]
        assert lines[0].startswith(f"Port {taken} is taken: ")
        page = lines[2].split()[2]
        assert page.endswith("/#/experiments/1/runs?workflowType=machine_learning&viewStateShareKey=0123456789ab")
        url = page.partition("/#")[0]
        assert url.startswith("http://127.0.0.1:") and not url.endswith(f":{taken}")
        assert made.read_mlflow(url)["parent"].info.run_name == "made"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
    assert process.stderr.read() == "MLflow UI stopped.\n"
    deadline = time.monotonic() + 10
    while (running := _servers_on(url)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not running


def test_the_ui_of_no_sweep_is_one_clear_message(tmp_path):
    with pytest.raises(InputError, match="holds no mlflow.db"):
        ui(tmp_path)


def _servers_on(url: str) -> list[str]:
    """Processes of this machine that serve `url`."""
    port = url.rpartition(":")[2]
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                words = file.read().split("\0")
        except OSError:
            continue
        if port in words and any("mlflow" in word for word in words):
            found.append(" ".join(words))
    return found
