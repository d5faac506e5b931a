"""One description, six kinds of file."""

from __future__ import annotations

from pathlib import Path

from cluster import compose, image, kuberay, ray_up, slurm
from cluster.description import Cluster
from cluster.remote_sweep import RemoteSweep
from corpora.errors import InputError, Problem
from sweeps import config
from sweeps.machines import shape, wanted

ALONE = {"aws": ray_up.aws, "gcp": ray_up.gcp, "docker": image.dockerfile, "compose": compose.render}
WITH_SWEEP = {"slurm": slurm.render, "kuberay": kuberay.render}


def rendered(what: str, cluster: Cluster, sweep: Path | None, out: str | None) -> str:
    """The file's text; `sweep` and `out` are for what runs one."""
    if what in ALONE:
        if sweep or out:
            raise InputError(Problem("--sweep", f"{what} runs no sweep: leave it out, and `stockpot submit` one to the cluster"))
        return ALONE[what](cluster)
    if out and not sweep:
        raise InputError(Problem("--out", "is a sweep's folder: give --sweep too"))
    if not sweep:
        return WITH_SWEEP[what](cluster, None)
    remote = RemoteSweep.of(config.load(sweep), out, cluster)
    asked, groups = remote.config.resources, cluster.workers[:1] if what == "slurm" else cluster.workers
    if not any(node.slots(asked) for node in cluster.largest if node.name in {group.name for group in groups}):
        found = f"no worker of {cluster.name} has them: {shape(cluster.largest)}"
        raise InputError(Problem("resources", f"{wanted(asked)} asked for each trial; {found}"))
    return WITH_SWEEP[what](cluster, remote)
