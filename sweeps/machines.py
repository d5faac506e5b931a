"""What a sweep's trials would run on: this machine, or the nodes of a Ray cluster."""

from __future__ import annotations

import logging
import os
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from corpora.errors import InputError, Problem
from sweeps.config import Resources
from sweeps.ray_cluster import ACCELERATOR

PATIENCE = 10.0  # seconds that a cluster has to answer


@dataclass(frozen=True)
class Machine:
    name: str
    cpus: float
    gpus: float
    memory_gb: float
    gpu_type: str = ""

    def slots(self, asked: Resources, memory_gb: float = 0.0) -> int:
        """Trials of so many resources and so much memory that it holds at once."""
        if asked.gpu_type and asked.gpu_type != self.gpu_type:
            return 0
        limits = [self.cpus / asked.cpus]
        if asked.gpus:
            limits.append(self.gpus / asked.gpus)
        if memory := max(memory_gb, asked.memory or 0):
            limits.append(self.memory_gb / memory)
        return int(min(limits) + 1e-9)


def this_machine() -> Machine:
    import torch

    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    return Machine("this machine", os.cpu_count() or 1, torch.cuda.device_count(), memory)


def ray_machines(address: str) -> list[Machine]:
    """The living nodes of the cluster at `address`; starts nothing on it. Raises InputError where none answers."""
    import ray

    try:
        _reach(address)
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
        nodes = [node for node in ray.nodes() if node["Alive"]]
    except Exception as error:  # Ray raises plain ones
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(Problem("RAY_ADDRESS", f"no Ray cluster answers at {address} ({first})")) from None
    finally:
        ray.shutdown()
    return [machine_of(node) for node in nodes]


def machine_of(node: dict[str, Any]) -> Machine:
    """A node as `ray.nodes()` tells of it."""
    has = node["Resources"]
    gpu_type = node.get("Labels", {}).get(ACCELERATOR, "")
    return Machine(node["NodeManagerAddress"], has.get("CPU", 0), has.get("GPU", 0), has.get("memory", 0) / 1e9, gpu_type)


def _reach(address: str) -> None:
    """Raises OSError where nothing listens: Ray itself would try for two minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()


def problems(asked: Resources, machines: Sequence[Machine]) -> Iterator[Problem]:
    """No machine could hold a single trial. This machine's CPUs are shared out among any number of trials."""
    here = len(machines) == 1 and machines[0].name == this_machine().name
    if here and asked.gpus > machines[0].gpus:
        yield Problem("resources.gpus", f"{asked.gpus:g} asked for each trial, this machine has {machines[0].gpus:g}: give 0")
    if here and (asked.memory or 0) > machines[0].memory_gb:
        yield Problem("resources.memory", f"{asked.memory:g} GB asked for each trial, this machine has {machines[0].memory_gb:.1f}")
    if not here and not any(machine.slots(asked) for machine in machines):
        yield Problem("resources", f"{wanted(asked)} asked for each trial; no node of the cluster has them: {shape(machines)}")


def wanted(asked: Resources) -> str:
    """What one trial asks for, in words."""
    memory = f" and {asked.memory:g} GB" if asked.memory else ""
    return f"{asked.cpus:g} CPUs, {asked.gpus:g} {f'{asked.gpu_type} ' if asked.gpu_type else ''}GPUs{memory}"


def shape(machines: Sequence[Machine]) -> str:
    """A cluster in words: its nodes by kind, the commonest first."""
    def kind(machine: Machine) -> str:
        gpus = f"{machine.gpus:g} {f'{machine.gpu_type} ' if machine.gpu_type else ''}GPUs"
        return f"{machine.cpus:g} CPUs, {gpus}, {machine.memory_gb:.0f} GB"

    counted = Counter(map(kind, machines)).most_common()
    return "; ".join(f"{count} x ({each})" for each, count in counted) or "it has no node"


def warnings(asked: Resources, machines: Sequence[Machine], memory_gb: float) -> Iterator[Problem]:
    """Fewer trials fit at once than slots are asked for."""
    fitting = sum(machine.slots(asked) for machine in machines)
    if fitting < asked.slots:
        here = len(machines) == 1 and machines[0].name == this_machine().name
        then = "they will share" if here else "the others wait"
        yield Problem("resources", f"{asked.slots} trials of {asked.cpus:g} CPUs and {asked.gpus:g} GPUs asked for at a time, "
                      f"{fitting} fit: {then}")  # fmt: skip
    with_memory = sum(machine.slots(asked, memory_gb) for machine in machines)
    if with_memory < min(asked.slots, fitting):
        yield Problem("memory", f"{memory_gb:.1f} GB estimated a trial: {with_memory} fit into memory at a time; lower "
                      "documents_per_pass or slots")  # fmt: skip
