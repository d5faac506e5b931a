"""Whether this machine can run a sweep: each part tried for real, and what to do where it fails."""

from __future__ import annotations

import importlib.metadata
import logging
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from corpora.errors import StockpotError
from sweeps.config import SweepConfig

LEAST_MEMORY, LEAST_DISK = 4.0, 5.0  # GB under which the demo itself is in danger
CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"


@dataclass(frozen=True)
class Finding:
    """`state`: ok, told (works, but mind it) or problem."""

    what: str
    state: str
    found: str
    cure: str = ""

    def json(self) -> dict[str, str]:
        return asdict(self)


def examine(config: SweepConfig | None, folder: Path) -> Iterator[Finding]:
    """One finding after the other. `folder`: where sweeps will be written; `config`: the sweep to be ready for."""
    encoder = config.student.encoder if config else "minilm"
    checks: list[tuple[str, Callable[[], Finding]]] = [
        ("Python", _python),
        ("packages", _packages),
        ("tested versions", _tested),
        ("torch", _device),
        ("memory", _memory),
        ("disk", lambda: _disk(folder)),
        ("weights", lambda: _weights(encoder)),
        ("MLflow", lambda: _mlflow(config.mlflow.uri if config else None)),
        ("webhook", lambda: _webhook(config)),
        ("Ray", _ray),
    ]
    for what, check in checks:
        try:
            yield check()
        except StockpotError as error:
            yield Finding(what, "problem", _first_line(error), "mend what it names")
        except Exception as error:  # what a broken installation may raise, a library that does not load say
            yield Finding(what, "problem", f"{type(error).__name__}: {_first_line(error)}", "install stockpot anew: pip install -c constraints.txt .")


def _python() -> Finding:
    found = f"{platform.python_version()} in {sys.prefix}"
    if sys.version_info < (3, 11):
        return Finding("Python", "problem", found, "stockpot needs Python 3.11 or later")
    return Finding("Python", "ok", found)


def _packages() -> Finding:
    """Every dependency of stockpot's own metadata, in the range that it asks for."""
    from packaging.requirements import Requirement

    wrong, count = [], 0
    for line in importlib.metadata.requires("stockpot") or ():
        asked = Requirement(line)
        if asked.marker and not asked.marker.evaluate({"extra": ""}):
            continue
        count += 1
        found = _version(asked.name)
        if found is None or not asked.specifier.contains(found, prereleases=True):
            wrong.append(f"{asked.name}{asked.specifier} is {found or 'missing'}")
    if wrong:
        return Finding("packages", "problem", "; ".join(wrong), "pip install -c constraints.txt .")
    return Finding("packages", "ok", f"{count} as asked for")


def _tested() -> Finding:
    """Against constraints.txt, where stockpot lies in its repository."""
    if not CONSTRAINTS.is_file():
        return Finding("tested versions", "told", "constraints.txt is not here: versions were not compared")
    pins = dict(line.strip().split("==") for line in CONSTRAINTS.read_text().splitlines() if "==" in line and not line.startswith("#"))
    other = [f"{name} {found} (tested {pin})" for name, pin in pins.items() if (found := _version(name)) not in (None, pin)]
    if other:
        return Finding("tested versions", "told", ", ".join(other), "pip install -c constraints.txt . if something behaves oddly")
    return Finding("tested versions", "ok", f"{len(pins)} pins agree with what is installed")


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _device() -> Finding:
    import torch

    square = torch.ones(4, 4)
    if torch.cuda.is_available():
        names = ", ".join(torch.cuda.get_device_name(place) for place in range(torch.cuda.device_count()))
        (square.cuda() @ square.cuda()).cpu()  # a driver too old for this torch fails here
        return Finding("torch", "ok", f"{torch.__version__} on {names}")
    if shutil.which("nvidia-smi"):
        return Finding("torch", "problem", f"{torch.__version__} sees no GPU, though nvidia-smi is here",
                       "install the torch of this GPU's driver: README, Installing elsewhere")  # fmt: skip
    return Finding("torch", "ok", f"{torch.__version__} on {os.cpu_count()} CPUs")


def _memory() -> Finding:
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    if total < LEAST_MEMORY:
        return Finding("memory", "problem", f"{total:.1f} GB", f"a sweep of MiniLM needs {LEAST_MEMORY:g} GB: run fewer slots on a larger machine")
    return Finding("memory", "ok", f"{total:.1f} GB")


def _disk(folder: Path) -> Finding:
    place = next(parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.exists())
    free = shutil.disk_usage(place).free / 1e9
    if not os.access(place, os.W_OK):
        return Finding("disk", "problem", f"{place} cannot be written to", "give another folder by --out")
    if free < LEAST_DISK:
        return Finding("disk", "problem", f"{free:.1f} GB free in {place}", "make room (`stockpot gc` on earlier sweeps), or give another --out")
    return Finding("disk", "ok", f"{free:.1f} GB free in {place}")


def _weights(encoder: str) -> Finding:
    from trainables.base import encoder_folder

    folder = encoder_folder(encoder)  # checks the SHA-256 of the packaged ones
    return Finding("weights", "ok", f"{encoder} in {folder}")


def _mlflow(uri: str | None) -> Finding:
    """Writes a run into a store like the sweep's, or into the sweep's own server, and takes it away again."""
    from sweeps import mlflow_store

    with tempfile.TemporaryDirectory() as scratch:
        asked = uri or mlflow_store.default_uri(Path(scratch))
        try:
            client = mlflow_store.open_client(asked)
            experiment = mlflow_store.experiment_id(client, asked, "stockpot doctor", Path(scratch))
            run = client.create_run(experiment)
            client.delete_run(run.info.run_id)
            client.delete_experiment(experiment)
        except Exception as error:  # whatever a store, a proxy or a disk may raise
            return Finding("MLflow", "problem", f"{mlflow_store.masked(asked)}: {mlflow_store.masked(_first_line(error), asked)}",
                           "start the server, or correct mlflow.uri")  # fmt: skip
    return Finding("MLflow", "ok", f"{mlflow_store.masked(uri) if uri else 'SQLite'} takes a run")


def _webhook(config: SweepConfig | None) -> Finding:
    from sweeps.notify import url_of

    if config is None or config.notify.webhook is None:
        return Finding("webhook", "ok", "none asked for")
    url_of(config.notify)
    return Finding("webhook", "ok", f"{config.notify.model_dump()['webhook']} is set; nothing was posted")


def _ray() -> Finding:
    """The cluster that RAY_ADDRESS names, or one of this machine: started, given one task, ended."""
    from sweeps.machines import ray_machines
    from sweeps.ray_cluster import RAY_ENVIRONMENT

    for name, value in RAY_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    if address := os.environ.get("RAY_ADDRESS"):
        nodes = ray_machines(address)
        return Finding("Ray", "ok", f"{len(nodes)} nodes at {address}, {sum(node.cpus for node in nodes):g} CPUs, {sum(node.gpus for node in nodes):g} GPUs")
    import ray

    try:
        ray.init(num_cpus=1, include_dashboard=False, _node_ip_address="127.0.0.1", object_store_memory=100_000_000,
                 log_to_driver=False, logging_level=logging.ERROR)  # fmt: skip
        ray.get(ray.remote(lambda: None).remote(), timeout=120)
    except Exception as error:  # Ray raises plain ones
        return Finding("Ray", "problem", f"does not start: {_first_line(error)}", "look into /tmp/ray/session_latest/logs; a full /tmp or a firewall on loopback are common")
    finally:
        ray.shutdown()
    return Finding("Ray", "ok", f"{ray.__version__} starts here and works")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
