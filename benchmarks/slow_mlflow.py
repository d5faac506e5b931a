"""What a slow MLflow costs a sweep: the same sweep with a fast server, and with 1 s before each of its answers.

    python benchmarks/slow_mlflow.py [--delay 1.0] [--pairs 2]

Both times are the ledger's, from the sweep's first event until its last before MLflow is brought up to date: what the driver's
loop lost to a slow server. What the driver then waits for MLflow is printed beside it; it is never over a stated limit, and
`stockpot sync` sends what is left. The ratio is taken over the sums of all pairs, run in turn, one of each at a time.
"""

from __future__ import annotations

import argparse
import http.client
import os
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # tests/faults is in the repository only
os.chdir(ROOT)

from sweeps import mlflow_store  # noqa: E402
from sweeps.ledger import Ledger  # noqa: E402
from tests.faults.world import World  # noqa: E402
from tests.stockpot.command import stockpot  # noqa: E402
from tests.sweeps.mlflow_servers import TeamServer  # noqa: E402

HOP_BY_HOP = {"connection", "transfer-encoding", "content-length", "keep-alive"}


class Slow(ThreadingHTTPServer):
    """Passes every request on after `delay` seconds; counts them."""

    def __init__(self, port: int, delay: float):
        super().__init__(("127.0.0.1", 0), Passing)
        self.behind, self.delay, self.requests = port, delay, 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_: object) -> None:
        """A driver that has ended hangs up: no error of this benchmark."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Passing(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_any(self) -> None:
        self.server.requests += 1
        time.sleep(self.server.delay)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        behind = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        behind.request(self.command, self.path, body, headers)
        answer = behind.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        behind.close()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def log_message(self, *_: object) -> None:
        """Nothing: the table is the output."""


def main() -> None:
    reading = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reading.add_argument("--delay", type=float, default=1.0, help="seconds before each answer")
    reading.add_argument("--pairs", type=int, default=2)
    asked = reading.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "server"
        mlflow_store.open_client(mlflow_store.default_uri(place)).search_experiments()
        world = World.make(Path(scratch) / "world")
        with TeamServer(place, mlflow_store.default_uri(place)) as server:
            proxies = {"fast": Slow(server.port, 0.0), "slow": Slow(server.port, asked.delay)}
            spent = {name: 0.0 for name in proxies}
            for pair in range(asked.pairs):
                for name, proxy in proxies.items():
                    before = proxy.requests
                    seconds, waited, lacks = _sweep(world, f"{name}-{pair}", proxy.url)
                    spent[name] += seconds
                    left = ", the rest is left to `sync`" if lacks else ""
                    print(f"{name} {pair}: sweep {seconds:.1f} s, then {waited:.1f} s for MLflow{left}; {proxy.requests - before} requests", flush=True)
    print(f"slow over fast, {asked.delay:g} s a request: {spent['slow'] / spent['fast']:.3f}")


def _sweep(world: World, name: str, url: str) -> tuple[float, float, bool]:
    """Seconds from the ledger's first event to its last, what the process took after that, and whether MLflow lacks something."""
    out = world.begin(name)
    done = stockpot("sweep", world.sweep(url), "--out", out, timeout=1800)
    ended = time.time()
    events = sorted((out / "ledger" / "events").glob("*.json"))
    first, last = (events[place].stat().st_mtime for place in (0, -1))
    assert Ledger.open(out).state().status == "finished"
    return last - first, ended - last, "MLflow lacks" in done.stderr


if __name__ == "__main__":
    main()
