"""A sweep as it travels: one YAML text with absolute paths, and the folder on the cluster that it writes to."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

import yaml

from corpora.errors import InputError, Problem
from sweeps.config import SweepConfig
from sweeps.corpora_config import GeneratedCorpora


@dataclass(frozen=True)
class RemoteSweep:
    config: SweepConfig
    out: str  # absolute, on the cluster

    @classmethod
    def of(cls, config: SweepConfig, out: str | None, storage: str | None, mlflow: str | None = None) -> RemoteSweep:
        """`storage` and `mlflow` are the cluster's, where the sweep names none itself."""
        if mlflow and not config.mlflow.uri:
            config = config.model_copy(update={"mlflow": config.mlflow.model_copy(update={"uri": mlflow})})
        problems = []
        parts = urlsplit(config.mlflow.uri or "")
        if parts.username or parts.password:
            cure = "set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD on the cluster's nodes (docs/cluster.md)"
            problems.append(Problem("mlflow.uri", f"holds credentials, which would travel in plain sight: leave them out and {cure}"))
        if parts.scheme == "sqlite":
            cure = "leave it out (the sweep's folder holds one)"
            problems.append(Problem("mlflow.uri", f"an SQLite file is no server that nodes can reach: {cure}"))
        out = out or (f"{storage}/{folder_name(config.name)}" if storage else None)
        if out is None or not out.startswith("/") or any(each in out for each in "\n\0"):
            problems.append(Problem("--out", "give an absolute folder that every node sees, or a CLUSTER.yaml with `storage`"))
        if problems:
            raise InputError(problems)
        return cls(config, out)

    @property
    def yaml(self) -> str:
        content = self.config.model_dump(mode="json", by_alias=True, exclude_unset=True)
        return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Folders and files that every node must see."""
        config = self.config
        found = [config.teacher.path, None if config.student.encoder == "minilm" else config.student.encoder]
        if not isinstance(config.corpora, GeneratedCorpora):
            for value in config.corpora.model_dump(include={"folder", "train", "dev", "confirm", "test"}).values():
                found += [value] if isinstance(value, str) or value is None else list(value)
        return tuple(path for path in found if path)


def folder_name(name: str) -> str:
    return "".join(each if each.isalnum() or each in "-_." else "-" for each in name)
