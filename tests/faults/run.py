"""One seeded run of the sweep under faults, and what must hold afterwards.

The seed decides what is killed, when and how often: `when` is a count of the ledger's events and a moment after it.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

from sweeps import mlflow_store
from sweeps.ledger import Ledger
from tests.cluster.live import Live
from tests.faults.processes import PATIENCE, processes_of, raylet_of, wait_for, workers_of
from tests.faults.world import World, events_in, result_of
from tests.stockpot.command import stockpot
from tests.sweeps import made_ledgers
from tests.sweeps.mlflow_servers import TeamServer

KINDS = ("worker", "raylet", "driver", "MLflow on SQLite", "MLflow on PostgreSQL")
"""What run n kills is KINDS[n % 5], so that each comes equally often."""
NODE = ["--num-cpus=2", "--node-ip-address=127.0.0.2"]
"""The node that dies: of another address than the head, to which the driver keeps."""


@dataclass
class Run:
    """`cluster`: a head without CPUs and the node NODE, for the runs that kill a raylet; the others start a Ray of their own."""

    world: World
    seed: int
    cluster: Live | None = None
    server: TeamServer | None = None
    blows: list[str] = field(default_factory=list)
    resumed: int = 0
    synced: bool = False

    def __post_init__(self) -> None:
        self.kind = KINDS[self.seed % len(KINDS)]
        self.random = random.Random(self.seed)
        self.out = self.world.begin(f"run-{self.seed}")
        self.scratch = str(self.cluster.folder) if self.cluster else tempfile.mkdtemp(prefix="sp-", dir="/tmp")  # short: sockets lie in it
        self.said = self.out.with_name(f"run-{self.seed}.log")

    def go(self) -> None:
        """Runs the sweep to its end, and fails where something was lost, doubled or left behind."""
        try:
            times = self.random.randint(1, 2) if self.kind != "raylet" else 1  # a node takes its time to come back
            moments = sorted(self.random.randrange(self.world.events) for _ in range(times))
            self._start()
            if self.server:
                self._without_mlflow(moments)
            else:
                for moment in moments:
                    self._blow(moment)
            self._ended()
            self._check()
        finally:
            with contextlib.suppress(ProcessLookupError):
                self.driver.kill()
            if not self.cluster:
                shutil.rmtree(self.scratch, ignore_errors=True)

    def _start(self) -> None:
        sweep = self.world.sweep(self.server.url if self.server else None)
        command = [sys.executable, "-m", "stockpot", "sweep", str(sweep), "--out", str(self.out), *(["--resume"] * (self.resumed > 0))]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        environment = {**kept, "OMP_NUM_THREADS": "1", "COLUMNS": "200", "RAY_TMPDIR": self.scratch}
        if self.cluster:
            environment |= {**self.cluster.environment, "RAY_ADDRESS": f"127.0.0.1:{self.cluster.port}"}
        with open(self.said, "a") as said:
            self.driver = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True)

    def _wait_until(self, moment: int) -> None:
        """The ledger holds `moment` events, or the sweep has ended; and a little later, so that any line of code may be hit."""
        wait_for(lambda: events_in(self.out) >= moment or self._is_over(), f"{moment} events\n{self._words()}")
        time.sleep(self.random.uniform(0, 0.5))

    def _is_over(self) -> bool:
        return self.driver.poll() is not None

    def _blow(self, moment: int) -> None:
        self._wait_until(moment)
        if self.kind == "driver":
            self.driver.kill()
            self.driver.wait()
            self._note("driver")
            self.resumed += 1
            self._start()
        elif self.kind == "raylet":
            node = len(self.cluster.nodes) - 1
            os.kill(raylet_of(str(self.cluster.folder / f"ray-{node}")), signal.SIGKILL)
            self._note("raylet, with the workers of its node")
            self.cluster.nodes[node].wait(PATIENCE)
            self.cluster.start(f"--address=127.0.0.1:{self.cluster.port}", *NODE)
        else:
            wait_for(self._kill_a_worker, f"a worker\n{self._words()}")

    def _kill_a_worker(self) -> bool:
        """True when one was hit, or none is needed any more."""
        with contextlib.suppress(ProcessLookupError, IndexError):  # none is there yet, or it ended by itself first
            os.kill(self.random.choice(workers_of(self.scratch)), signal.SIGKILL)
            self._note("worker")
            return True
        return self._is_over()

    def _without_mlflow(self, moments: list[int]) -> None:
        """Down at the first moment, up again at the last, or after the sweep."""
        back = moments[-1] + self.random.randrange(self.world.events // 2) if self.random.random() < 0.5 else None
        self._wait_until(moments[0])
        self.server.stop(signal.SIGKILL)
        self._note("MLflow's server")
        if back is None:
            self._ended()
        else:
            self._wait_until(back)
        self.server.start()

    def _note(self, what: str) -> None:
        self.blows.append(f"{what} after {events_in(self.out)} events")

    def _ended(self) -> None:
        wait_for(self._is_over, f"the sweep's end\n{self._words()}")
        assert self.driver.returncode == 0, f"{self.blows}\n{self._words()}"

    def _words(self) -> str:
        return self.said.read_text(errors="replace")[-6000:]

    def _check(self) -> None:
        assert "Traceback" not in self._words(), self._words()
        state = Ledger.open(self.out).state()
        assert state.status == "finished"
        assert result_of(self.out) == self.world.reference, self.blows
        uri = self.server.url if self.server else mlflow_store.default_uri(self.out)
        if "`stockpot sync" in self._words():
            stockpot("sync", self.out, timeout=PATIENCE)
            self.synced = True
        made_ledgers.assert_equal_to_ledger(state, uri, "faults")  # every run and metric once, and as the ledger has it
        self._nothing_is_left()

    def _nothing_is_left(self) -> None:
        left = workers_of if self.cluster else processes_of
        wait_for(lambda: not left(self.scratch), f"processes are left: {processes_of(self.scratch)}", 120)
        if self.cluster:
            code = "import ray; ray.init(log_to_driver=False); print([g for g in ray.util.placement_group_table().values() if g['state'] != 'REMOVED'])"
            address = {"RAY_ADDRESS": f"127.0.0.1:{self.cluster.port}"}
            told = subprocess.run([sys.executable, "-c", code], env={**self.cluster.environment, **address}, capture_output=True, text=True, timeout=PATIENCE)
            assert told.stdout.strip() == "[]", f"placement groups are left: {told.stdout}{told.stderr}"
