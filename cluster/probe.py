"""The cluster seen from inside: runs there as a job, looks from every node, prints one line of JSON.

    python -m cluster.probe '{"out": ..., "inputs": [...], "driver_inputs": [...], "mlflow": ..., "storage": ...}'

Every node gets an actor. It writes into the sweep's folder (with a URI as storage: into that too) and looks for what the
others wrote, opens the inputs, asks MLflow with the credentials of its own environment, and tells its clock.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

MARK = "STOCKPOT-PROBE "
LIBRARIES = ("torch", "transformers", "optuna", "mlflow", "pyarrow", "safetensors", "bm25s")
PROBES = ".probes"
"""In storage: small objects of the nodes, gone after the checks."""
PATIENCE = 90.0  # seconds that a node has to answer
SIGHT = 10.0  # seconds until a file of another node must be seen: NFS keeps what it saw for a while


class Node:
    """The checks, on one node."""

    def look(self, name: str, asked: dict[str, Any]) -> dict[str, Any]:
        import ray

        missing = [library for library in LIBRARIES if importlib.util.find_spec(library) is None]
        return {
            "python": platform.python_version(),
            "ray": ray.__version__,
            "missing": missing,
            "folder": self._write(Path(asked["out"]), name),
            "storage": storage_problem(asked["storage"], name) if asked["storage"] and not missing else "",
            "free_gb": _free(asked["out"]),
            "scratch_gb": _free("/tmp"),
            **{kind: [path for path in asked[kind] if not os.path.exists(path)] for kind in ("inputs", "driver_inputs")},
            "mlflow": mlflow_problem(asked["mlflow"]) if asked["mlflow"] and not missing else "",
            "gpu_memory_gb": gpu_memory(),
        }

    def _write(self, out: Path, name: str) -> str:
        try:
            out.mkdir(parents=True, exist_ok=True)
            (out / f".probe-{name}").write_text(name)
        except OSError as error:
            return f"cannot be written to: {error.strerror}"
        return ""

    def unseen(self, asked: dict[str, Any], names: list[str]) -> list[str]:
        """The nodes whose files do not show here, in the folder or in storage."""
        end = time.monotonic() + SIGHT
        while left := [name for name in names if not self._sees(asked, name)]:
            if time.monotonic() > end:
                return left
            time.sleep(0.2)
        return []

    def _sees(self, asked: dict[str, Any], name: str) -> bool:
        if asked["storage"]:
            from corpora.storage import Storage

            return Storage(asked["storage"]).get_bytes(f"{PROBES}/{name}") is not None
        return (Path(asked["out"]) / f".probe-{name}").exists()

    def tidy(self, asked: dict[str, Any], name: str) -> None:
        if asked["storage"]:
            from corpora.storage import Storage

            Storage(asked["storage"]).remove(f"{PROBES}/{name}")
        (Path(asked["out"]) / f".probe-{name}").unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            Path(asked["out"]).rmdir()  # only where it is empty

    def clock(self) -> float:
        return time.time()


def probe(asked: dict[str, Any]) -> dict[str, Any]:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ray.init(log_to_driver=False)
    nodes = [node for node in ray.nodes() if node["Alive"]]
    names = [node["NodeID"] for node in nodes]
    there = {name: NodeAffinitySchedulingStrategy(name, soft=False) for name in names}
    actors = {name: ray.remote(Node).options(num_cpus=0, scheduling_strategy=there[name]).remote() for name in names}
    run = uuid.uuid4().hex[:8]  # two may look at the same folder at once
    marks = {name: f"{name}-{run}" for name in names}
    seen = _all({name: actor.look.remote(marks[name], asked) for name, actor in actors.items()})
    wrote = [name for name, found in seen.items() if "folder" in found and not (found["folder"] or found["storage"] or found["missing"])]
    unseen = _all({name: actors[name].unseen.remote(asked, [marks[each] for each in wrote]) for name in wrote})
    clocks = {name: _skew(actors[name]) for name, found in seen.items() if "python" in found}
    _all({name: actors[name].tidy.remote(asked, marks[name]) for name in wrote})
    return {
        "nodes": [
            {
                "id": node["NodeID"], "name": node["NodeManagerAddress"], "head": bool(node["Resources"].get("node:__internal_head__")),
                "resources": node["Resources"], "labels": node.get("Labels", {}),
                **seen[node["NodeID"]], "unseen": unseen.get(node["NodeID"], []), "skew": clocks.get(node["NodeID"], 0.0),
            }
            for node in nodes
        ],
        "state_api": _state_api(),
        "plan": _plan(),
        "holder": _holder(Path(asked["out"])),
    }  # fmt: skip


def _all(calls: dict[str, Any]) -> dict[str, Any]:
    """Each call's answer; for one that failed or hangs `{"silent": why}`."""
    import ray

    _, silent = ray.wait(list(calls.values()), num_returns=len(calls), timeout=PATIENCE) if calls else ([], [])
    answers = {}
    for name, call in calls.items():
        try:
            answers[name] = {"silent": f"no answer in {PATIENCE:.0f} s"} if call in silent else ray.get(call)
        except Exception as error:  # whatever a node may die of
            answers[name] = {"silent": f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"}
    return answers


def _skew(actor: Any) -> float:
    """Seconds that the node's clock is ahead of the driver's; within half of what the answer took."""
    import ray

    before = time.time()
    told = ray.get(actor.clock.remote(), timeout=PATIENCE)
    return told - (before + time.time()) / 2


def _state_api() -> str:
    from ray.util.state import list_placement_groups

    try:
        list_placement_groups()
    except Exception as error:  # any of several, from an HTTP error to an import that failed
        return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"
    return ""


def _plan() -> dict[str, Any]:
    """The sweep's own plan as it looks from here: what is wrong with it, or what it needs."""
    from cluster.package import SWEEP
    from corpora.errors import InputError, StockpotError
    from sweeps.plan_file import plan_file

    try:
        found = plan_file(Path(SWEEP), lambda: ()).estimate
    except InputError as error:
        return {"problems": [[problem.where, problem.message] for problem in error.problems]}
    except StockpotError as error:
        return {"problems": [["plan", str(error)]]}
    return {"problems": [], "disk_gb": found.disk_gb, "memory_gb": found.memory_gb}


def _holder(out: Path) -> str:
    """Who works on the sweep in that folder already; empty for nobody, and where this node does not see it."""
    from sweeps.lease import living_driver

    holder = living_driver(out, time.time())
    return f"process {holder.pid} on {holder.host.partition('/')[0]}" if holder else ""


def mlflow_problem(uri: str) -> str:
    """Why this node cannot use the tracking server; empty where it can. Credentials are the environment's."""
    from sweeps.mlflow_store import check_server

    return _problem(lambda: check_server(uri))


def storage_problem(uri: str, name: str) -> str:
    """Why this node cannot keep a sweep there; empty where it can. Keys are the environment's."""
    from corpora.errors import StockpotError
    from corpora.storage import Storage

    def keep() -> None:
        storage = Storage(uri)
        storage.put_bytes(f"{PROBES}/{name}", name.encode())
        if storage.get_bytes(f"{PROBES}/{name}") != name.encode():
            raise StockpotError("gives back something else than was put")

    return _problem(keep)


def _problem(check: Callable[[], None]) -> str:
    from corpora.errors import InputError, StockpotError

    try:
        check()
    except InputError as error:
        return "; ".join(problem.message for problem in error.problems)
    except StockpotError as error:
        return str(error)
    return ""


def gpu_memory() -> float | None:
    """GB of the smallest GPU; None where the driver's tool is absent."""
    command = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
        return min(float(line) for line in told.split()) * 2**20 / 1e9
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def _free(folder: str) -> float:
    path = Path(folder)
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free / 1e9


if __name__ == "__main__":
    print(MARK + json.dumps(probe(json.loads(sys.argv[1]))), flush=True)
