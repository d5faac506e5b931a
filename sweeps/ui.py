"""`stockpot ui`: MLflow's own server over a sweep's store, on loopback, until Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlencode

from corpora.errors import InputError, Problem, StockpotError
from sweeps import mlflow_store
from sweeps.interruptible import interruptible
from sweeps.ledger import Ledger
from sweeps.mlflow_view import runs_page

ENDS_WITH_PARENT = 'cat >/dev/null; kill -TERM "-$1"; sleep 10; kill -KILL "-$1"'
"""A shell at the other end of a pipe that we alone hold open: when we are gone, by kill -9 too, the server's group ends."""
PORT = 5000
START_SECONDS = 180  # a server's own imports take 20 s on a busy two-core machine


def ui(folder: Path, host: str = "127.0.0.1", port: int | None = None, say: Callable[[str], None] | None = None) -> None:
    """Serves the store of the sweep in `folder` until Ctrl-C or SIGTERM; says the URL once it answers.

    `port`: without one PORT, or a free one where that is taken. `say` takes the lines for the user (stderr when None).
    """
    say = say or (lambda line: print(line, file=sys.stderr, flush=True))
    store = Path(folder) / "mlflow.db"
    if not store.is_file():
        raise InputError(
            Problem(str(folder), "holds no mlflow.db; give a sweep's folder, or make the store with `stockpot sync`")
        )
    try:
        store_uri, artifacts = mlflow_store.default_uri(folder), Path(folder) / "mlartifacts"
        with interruptible(), Server(store_uri, artifacts, host, _port(host, port, say)) as server:
            say(f"Starting the MLflow UI on {store} ...")
            server.wait_until_up()
            say(f"MLflow UI: {_sweeps_page(server.url, folder)}  (Ctrl-C ends it)")
            server.process.wait()
            raise StockpotError(f"the MLflow server ended by itself:\n{server.tail()}")
    except KeyboardInterrupt:
        say("MLflow UI stopped.")


def _sweeps_page(url: str, folder: Path) -> str:
    """The table of the sweep's runs; the server's front page where the store has no such experiment yet."""
    sweep = Ledger.open(folder).state().sweep
    name = (sweep["config"].get("mlflow") or {}).get("experiment") or sweep["name"]
    wanted = f"{url}/api/2.0/mlflow/experiments/get-by-name?{urlencode({'experiment_name': name})}"
    try:
        with urllib.request.urlopen(wanted, timeout=10) as answer:
            return runs_page(url, json.load(answer)["experiment"]["experiment_id"], sweep["sweep_id"])
    except OSError:
        return url


def _port(host: str, asked: int | None, say: Callable[[str], None]) -> int:
    """The port that was asked for, else an error; any free one where none was."""
    wanted = PORT if asked is None else asked
    found = free_port(host, wanted)
    if asked and found != asked:
        raise InputError(Problem("--port", f"{asked} is taken on {host}, or not for you: name another, or leave it out for a free one"))
    if wanted and found != wanted:
        say(f"Port {wanted} is taken: {found} instead.")
    return found


def free_port(host: str, wanted: int = 0) -> int:
    """`wanted` when nothing listens there, else a port that the system picks."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as refused:
                if port == 0:
                    raise InputError(Problem(f"host {host}", f"cannot be listened on: {refused.strerror}")) from None
                continue
            return probe.getsockname()[1]
    raise AssertionError("port 0 either binds or raises")


class Server:
    """One `mlflow server` in a process group of its own; leaving the `with` block ends the whole group."""

    def __init__(
        self, uri: str, artifacts: Path, host: str, port: int, options: Sequence[str] = (), environment: Mapping[str, str] | None = None,
    ):  # fmt: skip
        """`options` of `mlflow server`, and its `environment` beyond ours: secrets belong there, where no process list shows them."""
        mlflow_store.configure()
        self.url = f"http://{host}:{port}"
        self._log = tempfile.TemporaryFile()
        command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", uri, "--workers", "1"]
        command += ["--artifacts-destination", str(artifacts.resolve()), "--host", host, "--port", str(port), *options]
        self.process = subprocess.Popen(
            command, env={**os.environ, **(environment or {})}, start_new_session=True, stdout=subprocess.DEVNULL, stderr=self._log
        )
        self._guard = subprocess.Popen(
            ["sh", "-c", ENDS_WITH_PARENT, "sh", str(self.process.pid)], stdin=subprocess.PIPE, start_new_session=True
        )

    def wait_until_up(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise StockpotError(f"the MLflow server did not start:\n{self.tail()}")
            try:
                with urllib.request.urlopen(f"{self.url}/health", timeout=2):
                    return
            except OSError:
                time.sleep(0.2)
        raise StockpotError(f"the MLflow server did not answer on {self.url} within {START_SECONDS} s")

    def tail(self) -> str:
        """The last lines of the server's log, without secrets."""
        self._log.seek(0)
        return mlflow_store.masked("".join(self._log.read().decode(errors="replace").splitlines(keepends=True)[-12:]))

    def stop(self, first: int = signal.SIGTERM) -> None:
        """`mlflow server` is only the parent of the process that serves, so the signal goes to the group."""
        self._guard.kill()  # before the group's number may belong to others
        self._guard.wait()
        self._guard.stdin.close()
        for sent in (first, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, sent)
                self.process.wait(timeout=10)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._log.close()
