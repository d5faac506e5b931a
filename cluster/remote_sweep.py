"""A sweep as it travels: one YAML text with absolute paths, and the folder that it writes to on each node of the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import yaml

from cluster.description import Cluster
from corpora.errors import InputError, Problem
from sweeps.config import SweepConfig
from sweeps.corpora_config import CutCorpora, SplitCorpora, train_corpora


@dataclass(frozen=True)
class RemoteSweep:
    config: SweepConfig
    out: str  # absolute, on the cluster's nodes

    @classmethod
    def of(cls, config: SweepConfig, out: str | None, cluster: Cluster | None = None) -> RemoteSweep:
        """The cluster's storage and MLflow server are the sweep's, where it names none itself."""
        if cluster and cluster.mlflow and not config.mlflow.uri:
            config = config.model_copy(update={"mlflow": config.mlflow.model_copy(update={"uri": cluster.mlflow})})
        if cluster and cluster.uri and not config.storage:
            config = config.model_copy(update={"storage": below(cluster.uri, folder_name(config.name))})
        problems = []
        parts = urlsplit(config.mlflow.uri or "")
        if parts.username or parts.password:
            cure = "set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD on the cluster's nodes (docs/cluster.md)"
            problems.append(Problem("mlflow.uri", f"holds credentials, which would travel in plain sight: leave them out and {cure}"))
        if parts.scheme == "sqlite":
            cure = "leave it out (the sweep's folder holds one)"
            problems.append(Problem("mlflow.uri", f"an SQLite file is no server that nodes can reach: {cure}"))
        parent = _parent(config, cluster)
        out = out or (f"{parent}/{folder_name(config.name)}" if parent else None)
        if out is None or not out.startswith("/") or any(each in out for each in "\n\0"):
            found = f"found {out!r}: " if out else ""
            problems.append(Problem("--out", f"{found}give an absolute folder that every node sees, a CLUSTER.yaml with `storage`, or `storage: URI` in the sweep"))
        if problems:
            raise InputError(problems)
        return cls(config, out)

    @property
    def yaml(self) -> str:
        content = self.config.model_dump(mode="json", by_alias=True, exclude_unset=True)
        return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)

    @property
    def asked(self) -> dict[str, Any]:
        """What every node is asked about (`cluster/probe.py`)."""
        config = self.config
        corpora = [*_corpora(config), *([config.teacher.path] if config.teacher.path else [])]
        alone = [config.student.encoder] if config.student.encoder != "minilm" else []
        if config.trainer and (file := config.trainer.rpartition(":")[0]).endswith(".py"):
            alone.append(file)
        # Storage hands on what the driver makes of the corpora: only the driver's node must see them then.
        inputs, of_driver = (alone, corpora) if config.storage else ([*corpora, *alone], [])
        return {"out": self.out, "inputs": inputs, "driver_inputs": of_driver, "mlflow": config.mlflow.uri, "storage": config.storage}


def _corpora(config: SweepConfig) -> list[str]:
    corpora = config.corpora
    others = [corpora.folder] if isinstance(corpora, CutCorpora) else []
    if isinstance(corpora, SplitCorpora):
        others = [*corpora.dev, *corpora.confirm, *corpora.test]
    return [*(one.folder for one in train_corpora(corpora)), *others]


def _parent(config: SweepConfig, cluster: Cluster | None) -> str | None:
    """Where the sweep's folder lies on each node: on a disk of the node's own, where storage is a URI."""
    if cluster and not cluster.uri:
        return cluster.storage
    if config.storage:
        return cluster.scratch if cluster else Cluster.model_fields["scratch"].default
    return None


def below(uri: str, name: str) -> str:
    """The URI of what lies under that name there; what follows a `?` says how the store is reached."""
    place, mark, options = uri.partition("?")
    return f"{place.rstrip('/')}/{name}{mark}{options}"


def folder_name(name: str) -> str:
    """The name, with what no file system minds; dots alone would lead elsewhere."""
    folder = "".join(each if each.isalnum() or each in "-_." else "-" for each in name)
    return folder if folder.strip(".") else "sweep"
