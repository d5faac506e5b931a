"""Everything that would make a submitted sweep fail, found before it is: the judgement over what the probe saw.

Problems refuse a submission, all at once; warnings are told. What was seen is pure data
(`cluster/probe.py` collects it), so that every verdict here can be tried without a cluster.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cluster.package import SWEEP
from cluster.remote_sweep import RemoteSweep
from corpora.errors import Problem
from sweeps.config import Resources
from sweeps.machines import ACCELERATOR, Machine, machine_of, shape, wanted

SKEW = 10.0  # seconds between clocks; a driver's lease is thought stale after 60
SCRATCH = 2.0  # GB that Ray needs for its objects and logs


@dataclass(frozen=True)
class Preflight:
    nodes: tuple[dict[str, Any], ...]
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]

    def rows(self) -> list[list[str]]:
        """One row a node: name, CPUs, GPUs, memory, GPU memory, free space in the sweep's folder and in /tmp, clock."""
        return [_row(node) for node in self.nodes]


def versions_differ(ray_there: str, python_there: str | None = None) -> list[Problem]:
    """Ray pickles between the two sides, so that both must have one Ray, and one Python up to its second number."""
    import ray

    problems = []
    if ray_there != ray.__version__:
        problems.append(Problem("Ray", f"{ray.__version__} here, {ray_there} on the cluster: install one version on both sides"))
    here = platform.python_version()
    if python_there and _minor(python_there) != _minor(here):
        problems.append(Problem("Python", f"{here} here, {python_there} on the cluster: use one version on both sides"))
    return problems


def judge(seen: dict[str, Any], sweep: RemoteSweep, coming: tuple[Machine, ...] = (), driver: dict[str, str] | None = None) -> Preflight:
    """`seen`: what the probe printed. `coming`: the nodes that the cluster may still grow by. `driver`: labels of the nodes
    that may hold the driver, the head by default."""
    nodes, resources = _told_apart(seen["nodes"]), sweep.config.resources
    problems = [problem for node in nodes for problem in _node_problems(node, sweep, driver or {})]
    machines = [*map(_machine, nodes), *coming]
    if not any(machine.slots(resources) for machine in machines):
        hint = "" if coming else " (one that grows when asked? then say what by, with --cluster CLUSTER.yaml)"
        found = f"no node of the cluster has them: {shape(machines)}{hint}"
        problems.append(Problem("resources", f"{wanted(resources)} asked for each trial; {found}"))
    if seen["state_api"]:
        cure = "start the head with its dashboard, from ray[default]"
        problems.append(Problem("State API", f"does not answer ({seen['state_api']}): {cure}"))
    plan = seen["plan"]
    # By key alone: the file and its lines are those of the copy that travelled.
    problems += [Problem(re.sub(rf"^{re.escape(SWEEP)}:\d+: ", "", where), message) for where, message in plan["problems"]]
    return Preflight(tuple(nodes), tuple(problems), tuple([*_held(seen["holder"], sweep), *_warnings(nodes, machines, resources, plan)]))


def _told_apart(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Nodes of one address, as on one machine, are named by their Ray id too."""
    addresses = [node["name"] for node in nodes]
    return [node if addresses.count(node["name"]) == 1 else {**node, "name": f"{node['name']} ({'head' if node['head'] else node['id'][:8]})"}
            for node in nodes]


def _node_problems(node: dict[str, Any], sweep: RemoteSweep, driver: dict[str, str]) -> Iterator[Problem]:
    name, storage = node["name"], sweep.config.storage
    if "silent" in node:
        yield Problem(name, f"the node did not answer: {node['silent']}")
        return
    for problem in versions_differ(node["ray"], node["python"]):
        yield Problem(f"{name}: {problem.where}", problem.message)
    if node["missing"]:
        yield Problem(name, f"lacks {', '.join(node['missing'])}: install stockpot's requirements there (`stockpot cluster render docker`)")
    if node["folder"]:
        yield Problem(f"{name}: {sweep.out}", node["folder"])
    if node["storage"]:
        cure = "keys come from the node's environment (docs/cluster.md)"
        yield Problem(f"{name}: storage", f"{node['storage']}; {cure}")
    if node["unseen"]:
        shown = storage.partition("?")[0] if storage else sweep.out
        cure = "" if storage else "; or give `storage` as a URI"
        yield Problem(f"{name}: {shown}", f"is not shared: what {len(node['unseen'])} other nodes wrote there does not show{cure}")
    for path in node["inputs"]:
        yield Problem(f"{name}: {path}", "is not there: put it into a folder that every node sees, and name that in the sweep")
    for path in node["driver_inputs"] if _may_hold_driver(node, driver) else ():
        yield Problem(f"{name}: {path}", "is not there: the driver, which reads it and keeps what it makes of it in storage, may run there")
    if node["mlflow"]:
        yield Problem(f"{name}: mlflow.uri", f"{node['mlflow']} (docs/cluster.md says where credentials go)")
    if abs(node["skew"]) > SKEW:
        needed = f"leases and resumption need clocks within {SKEW:.0f} s (ntp)"
        yield Problem(name, f"its clock is {node['skew']:+.0f} s off the head's: {needed}")
    if node["scratch_gb"] < SCRATCH:
        yield Problem(f"{name}: /tmp", f"{node['scratch_gb']:.1f} GB are free, {SCRATCH:.0f} are needed")


def _may_hold_driver(node: dict[str, Any], driver: dict[str, str]) -> bool:
    return all(node["labels"].get(label) == value for label, value in driver.items()) if driver else node["head"]


def _held(holder: str, sweep: RemoteSweep) -> Iterator[Problem]:
    """No refusal: a driver may have died with its machine a moment ago, and the job waits for a sign of it."""
    if holder:
        cure = "`stockpot cluster jobs` lists the sweeps, `stockpot logs JOB` follows one, `stockpot stop JOB` ends it"
        yield Problem(sweep.out, f"another driver works on this sweep, or did a minute ago ({holder}); while it lives this submission fails: {cure}")


def _warnings(nodes: list[dict[str, Any]], machines: list[Machine], resources: Resources, plan: dict[str, Any]) -> Iterator[Problem]:
    fitting = sum(machine.slots(resources) for machine in machines)
    if 0 < fitting < resources.slots:
        yield Problem("resources.slots", f"{resources.slots} trials asked for at a time, {fitting} fit: the others wait")
    answering = [node for node in nodes if "silent" not in node]
    free = min((node["free_gb"] for node in answering), default=0.0)
    if plan.get("disk_gb", 0.0) > free:
        yield Problem("disk", f"about {plan['disk_gb']:.1f} GB are needed in the sweep's folder, {free:.1f} GB are free")
    for node in answering:
        share = (node["gpu_memory_gb"] or 0.0) * min(1.0, resources.gpus)
        if 0 < share < plan.get("memory_gb", 0.0) and _machine(node).slots(resources):
            yield Problem(node["name"], f"about {plan['memory_gb']:.1f} GB are needed for a trial, its part of a GPU has {share:.1f} GB")


def _machine(node: dict[str, Any]) -> Machine:
    return machine_of({"NodeManagerAddress": node["name"], "Resources": node["resources"], "Labels": node["labels"]})


def _row(node: dict[str, Any]) -> list[str]:
    machine = _machine(node)
    kind = node["labels"].get(ACCELERATOR, "")
    name = f"{node['name']}{' (head)' if node['head'] else ''}"
    row = [name, f"{machine.cpus:g}", f"{machine.gpus:g} {kind}".strip(), f"{machine.memory_gb:.0f} GB"]
    if "silent" in node:
        return [*row, "", "", "", ""]
    memory = f"{node['gpu_memory_gb']:.0f} GB" if node["gpu_memory_gb"] else ""
    return [*row, memory, f"{node['free_gb']:.0f} GB", f"{node['scratch_gb']:.0f} GB", f"{node['skew']:+.1f} s"]


def _minor(version: str) -> tuple[str, ...]:
    return tuple(version.split(".")[:2])
