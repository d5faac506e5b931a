"""A Ray cluster of machines of their own, on this one: each has an address, a cable, processes and a disk that no other has.

A machine is a set of Linux namespaces. Killing its first process is pulling its plug: everything on it ends at once.
Pulling its cable leaves it running, alone. `disk` is a path at which every worker has a file system of its own.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

RAY = str(Path(sys.executable).parent / "ray")
HEAD = "10.99.0.254"
PROCESSES = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
PATIENCE = 240.0


@dataclass
class Machine:
    """`process` is outside; its child is the machine's first process. `cable`: its end in the network."""

    address: str
    process: subprocess.Popen
    cable: str = ""

    @property
    def first(self) -> int:
        """The machine's process 1, by its number out here."""
        return int(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[0])

    def pull_plug(self) -> None:
        with contextlib.suppress(ProcessLookupError, IndexError, FileNotFoundError):
            os.kill(self.first, signal.SIGKILL)
        self.process.wait(PATIENCE)

    def runs(self, title: str) -> bool:
        """Whether a process of that title is on it."""
        inside = ["nsenter", "-t", str(self.first), "-p", "-m", "ps", "-eo", "args"]
        listed = subprocess.run(inside, capture_output=True, text=True).stdout
        return any(line.startswith(title) for line in listed.splitlines())


@dataclass
class Network:
    """The machines and what joins them; `folder` is out here, and the same for all of them but for `disk`."""

    folder: Path
    disk: Path
    switch: subprocess.Popen
    token: str = field(default_factory=lambda: secrets.token_hex(32))
    head: Machine | None = None
    workers: list[Machine] = field(default_factory=list)
    made: int = 0

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return {
            **kept, "PATH": path, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": self.token, "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_raylet_start_wait_time_s": "180", "RAY_health_check_timeout_ms": "5000", "RAY_ADDRESS": f"{HEAD}:6379",
            "HELD": str(self.folder),
        }  # fmt: skip

    def inside(self, *command: str) -> list[str]:
        """The command, in the network but on no machine."""
        return ["nsenter", "-t", str(self.switch.pid), "-n", *command]

    def configure(self, *command: str) -> None:
        subprocess.run(self.inside(*command), check=True, capture_output=True)

    def start_head(self) -> None:
        options = f"--head --port=6379 --num-cpus=0 --node-ip-address={HEAD} --include-dashboard=false"
        self.head = self._started(HEAD, self.inside(*PROCESSES, "bash", "-c", f"{self._ray(options)}; exit"), "")

    def add_worker(self) -> Machine:
        address, cable = f"10.99.0.{self.made + 1}", f"cable{self.made}"
        options = f"--address={HEAD}:6379 --node-ip-address={address} --num-cpus=1 --labels=machine={address}"
        script = (
            "set -e; until ip link show eth0 >/dev/null 2>&1; do sleep 0.1; done; ip link set lo up; "
            f"ip addr add {address}/24 dev eth0; ip link set eth0 up; mount -t tmpfs own {self.disk}; "
            f"export MACHINE={address}; {self._ray(options)}; exit"
        )
        process_of = ["unshare", "--net", *PROCESSES[1:], "bash", "-c", script]
        machine = self._started(address, process_of, cable)
        self.workers.append(machine)
        return machine

    def until_up(self) -> None:
        """Every machine says that Ray runs on it."""
        for machine in (self.head, *self.workers):
            log = self.folder / f"{machine.address}-{machine.process.pid}.log"
            until(lambda log=log: "Ray runtime started" in log.read_text(), lambda log=log: log.read_text())

    def pull_plug(self, machine: Machine) -> None:
        machine.pull_plug()
        if machine in self.workers:
            self.workers.remove(machine)

    def cable(self, machine: Machine, state: str) -> None:
        """`down` cuts it off from all others, `up` joins it again."""
        self.configure("ip", "link", "set", machine.cable, state)

    def on_head(self, *command: str, **options) -> subprocess.Popen:
        """Starts a command on the head."""
        entered = ["nsenter", "-t", str(self.head.first), "-n", "-p", "-m", *command]
        return subprocess.Popen(entered, env=self.environment, text=True, start_new_session=True, **options)

    def worker_at(self, address: str) -> Machine:
        return next(machine for machine in self.workers if machine.address == address)

    def stop(self) -> None:
        for machine in (*self.workers, *([self.head] if self.head else [])):
            machine.pull_plug()
        self.switch.kill()
        self.switch.wait()

    def _ray(self, options: str) -> str:
        self.made += 1
        own = f"--temp-dir={self.folder}/ray-{self.made} --object-store-memory=100000000 --memory=2000000000"
        return f"nice -n 19 {RAY} start {options} {own} --disable-usage-stats --block"

    def _started(self, address: str, command: list[str], cable: str) -> Machine:
        log = self.folder / "starting.log"
        with open(log, "w") as out:
            process = subprocess.Popen(command, env=self.environment, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        log.rename(self.folder / f"{address}-{process.pid}.log")
        machine = Machine(address, process, cable)
        if cable:
            here = os.readlink("/proc/self/ns/net")
            until(lambda: os.readlink(f"/proc/{process.pid}/ns/net") != here)
            self.configure("ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", str(process.pid))
            self.configure("ip", "link", "set", cable, "master", "switch", "up")
        return machine


@contextlib.contextmanager
def network() -> Iterator[Network]:
    """A switch to which machines can be added; everything is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="sp-", dir="/tmp"))  # short: sockets lie in it
    here = os.readlink("/proc/self/ns/net")
    switch = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
    made = Network(folder, folder / "disk", switch)
    made.disk.mkdir()
    try:
        until(lambda: os.readlink(f"/proc/{switch.pid}/ns/net") != here)
        for words in ("link set lo up", "link add switch type bridge", f"addr add {HEAD}/24 dev switch", "link set switch up"):
            made.configure("ip", *words.split())
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)


def possible() -> bool:
    return os.geteuid() == 0 and bool(shutil.which("ip")) and not subprocess.run(
        ["unshare", "--net", *PROCESSES[1:], "bash", "-c", "ip link add cable type veth peer name other && ip link add switch type bridge"],
        capture_output=True,
    ).returncode


def until(holds: Callable[[], object], shown: Callable[[], str] = lambda: "", patience: float = PATIENCE) -> object:
    """What `holds` gives, once it is true; an AssertionError with what is `shown` where that takes too long."""
    end = time.monotonic() + patience
    while not (found := holds()):
        assert time.monotonic() < end, f"waited {patience:.0f} s in vain\n{shown()}"
        time.sleep(0.2)
    return found
