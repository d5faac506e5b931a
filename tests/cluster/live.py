"""A real Ray cluster of several nodes on this machine: its own ports, folder and token, so that it meets no other."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE = 120.0  # seconds until a node must be up
RAY = str(Path(sys.executable).parent / "ray")


@dataclass
class Live:
    folder: Path
    token: str
    port: int
    dashboard: int
    nodes: list[subprocess.Popen] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.dashboard}"

    @property
    def environment(self) -> dict[str, str]:
        """Of a node, and of a user who has the token."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return {**self.stranger, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": self.token, "PATH": path}

    @property
    def stranger(self) -> dict[str, str]:
        """Of a user without the token, whose home holds none."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        return {**kept, "HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "RAY_USAGE_STATS_ENABLED": "0", "RAY_raylet_start_wait_time_s": "180"}

    def start(self, *options: str) -> None:
        common = [
            "--block", "--node-ip-address=127.0.0.1", f"--dashboard-agent-listen-port={free_port()}",
            "--object-store-memory=100000000", "--disable-usage-stats", "--memory=2000000000",
            # Nodes of one machine that share a folder unpack each other's packages.
            f"--temp-dir={self.folder / f'ray-{len(self.nodes)}'}",
        ]  # fmt: skip
        with open(self.folder / f"node-{len(self.nodes)}.log", "w") as log:
            self.nodes.append(subprocess.Popen(
                [RAY, "start", *common, *options], env=self.environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            ))  # fmt: skip

    def stop(self) -> None:
        for node in reversed(self.nodes):
            node.send_signal(signal.SIGTERM)
        for node in self.nodes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                node.wait(20)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(node.pid, signal.SIGKILL)  # its own session: nothing of another's is in it


@contextlib.contextmanager
def live_cluster(workers: list[list[str]]) -> Iterator[Live]:
    """A head without CPUs and one node for each list of `ray start` options."""
    folder = Path(tempfile.mkdtemp(prefix="sp-"))  # short: sockets lie in it
    live = Live(folder, secrets.token_hex(32), free_port(), free_port())
    try:
        live.start(
            "--head", f"--port={live.port}", f"--dashboard-port={live.dashboard}", "--dashboard-host=127.0.0.1", "--num-cpus=0",
            f"--ray-client-server-port={free_port()}", "--labels=ray.io/market-type=on-demand",
        )  # fmt: skip
        _until_up(live)
        for options in workers:
            live.start(f"--address=127.0.0.1:{live.port}", *options)
        yield live
    finally:
        live.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _until_up(live: Live) -> None:
    end = time.monotonic() + PATIENCE
    request = urllib.request.Request(f"{live.address}/api/version", headers={"Authorization": f"Bearer {live.token}"})
    while True:
        try:
            urllib.request.urlopen(request, timeout=5).close()
            return
        except (OSError, urllib.error.URLError) as error:
            if time.monotonic() > end or live.nodes[0].poll() is not None:
                raise AssertionError(f"no head: {error}\n{(live.folder / 'node-0.log').read_text()}") from error
            time.sleep(0.3)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]
