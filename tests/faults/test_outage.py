"""MLflow that never answers: the driver's loop waits for none of it, and a later `sync` makes up for all."""

from __future__ import annotations

import socket
import threading

from sweeps import figures, mlflow_store
from sweeps.ledger import Ledger
from sweeps.projector import BackgroundProjector
from tests.faults.processes import wait_for
from tests.faults.world import result_of
from tests.stockpot.command import stockpot
from tests.sweeps import made_ledgers as made
from tests.sweeps.mlflow_servers import TeamServer


class Silent:
    """Takes connections and never answers; counts them."""

    def __enter__(self) -> Silent:
        self._socket, self.held = socket.create_server(("127.0.0.1", 0)), []
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._take, daemon=True).start()
        return self

    def _take(self) -> None:
        while True:
            try:
                self.held.append(self._socket.accept()[0])
            except OSError:
                return

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        for one in self.held:
            one.close()


def test_a_whole_sweep_is_written_while_mlflow_owes_its_first_answer(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "600")
    monkeypatch.setattr(figures, "sweep_figures", lambda state, folder: ())
    ledger = made.begin(tmp_path)
    with Silent() as server:
        background = BackgroundProjector(tmp_path, server.url, interval=0.01)
        wait_for(lambda: server.held, "the projector's first request", 60)
        for ordinal in range(20):
            made.trial(ledger, ordinal)
        made.close(ledger)
        assert len(server.held) == 1, "all of it happened within one unanswered request"
        left = background.close(patience=0.2)
        assert len(server.held) == 1 and left.error == "not done within 0 s"
        assert left.pending == [*(f"trial {ordinal:03d}" for ordinal in range(20)), "the sweep's page"]


def test_mlflow_down_for_the_whole_sweep_costs_a_later_sync(world, tmp_path):
    place, out = tmp_path / "server", world.begin("outage")
    mlflow_store.open_client(mlflow_store.default_uri(place)).search_experiments()
    server = TeamServer(place, mlflow_store.default_uri(place))
    done = stockpot("sweep", world.sweep(server.url), "--out", out, timeout=900)
    assert "the sweep goes on without" in done.stderr and "MLflow lacks 6 pages" in done.stderr
    assert result_of(out) == world.reference
    with server:
        stockpot("sync", out, timeout=300)
        made.assert_equal_to_ledger(Ledger.open(out).state(), server.url, "faults")
