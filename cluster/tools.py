"""What submits where no Ray cluster listens yet: sbatch, kubectl and `ray up`, each asked for before it is needed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from corpora.errors import InputError, Problem, StockpotError


def sbatch(script: str) -> str:
    """Submits the script; what Slurm said."""
    return _run("--slurm", ["sbatch"], script, "run this on a login node of the cluster")


def kubectl_apply(manifests: str) -> str:
    return _run("--kuberay", ["kubectl", "apply", "-f", "-"], manifests, "install it, and point it at the cluster")


def ray_up(config: str, name: str) -> str:
    """Starts the machines; the file stays where `ray up` and `ray down` will want it again: ~/.stockpot/NAME.yaml."""
    path = Path.home() / ".stockpot" / f"{name}.yaml"
    _there("--up", "ray", "activate the environment that stockpot is installed in")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(config)
    _run("--up", ["ray", "up", str(path), "--yes"], "", "")
    return f"the cluster is up; `ray dashboard {path}` opens its job server on http://127.0.0.1:8265, `ray down {path}` ends it"


def _there(option: str, tool: str, cure: str) -> None:
    if not shutil.which(tool):
        raise InputError(Problem(option, f"{tool} is not on this machine: {cure}"))


def _run(option: str, command: list[str], text: str, cure: str) -> str:
    _there(option, command[0], cure)
    with tempfile.TemporaryFile("w+") as told:
        code = subprocess.run(command, input=text, text=True, stdout=told, stderr=subprocess.STDOUT).returncode
        told.seek(0)
        said = told.read().strip()
    if code:
        raise StockpotError(f"{' '.join(command)} failed ({code}):\n{said}")
    return said
