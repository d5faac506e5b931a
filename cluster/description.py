"""A cluster as one typed value: what the Slurm script, the Kubernetes manifests and the `ray up` files are made from.

Three lines make one:

    name: lab
    storage: /mnt/sweeps      # or s3://BUCKET/sweeps, where machines share no disk
    workers: [{gpus: 1}]

`examples/cluster.yaml` shows every key. Secrets appear by the name of what holds them, never by value.
"""

from __future__ import annotations

import importlib.metadata
import platform
import re
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, TypeAdapter, field_validator, model_validator
from pydantic_core import PydanticCustomError

from corpora.errors import Problem
from corpora.storage import check_uri
from corpora.yaml_file import read_yaml
from corpora.yaml_model import Frozen, validated
from sweeps.machines import Machine as Node


def spelled(pattern: str, rule: str, shown: bool = True) -> AfterValidator:
    """Text that must match `pattern` whole; `rule` says so in words. `shown`: whether the message has what was found."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"{rule}; found {text!r}" if shown else rule)
        return text

    return AfterValidator(check)


# Kubernetes' rule for names; 40 characters leave room for what KubeRay appends.
NAME = r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?"
FILE = r"[/~][^\s'\"\\$`]*"
Name = Annotated[str, spelled(NAME, "a name is up to 40 of a-z, 0-9 and -, beginning with a letter")]
# Who writes a secret itself where its holder's name belongs does not find it in a terminal's log.
_HOLDER = "the name of what holds the secret is needed, never the secret itself"
SecretName = Annotated[str, spelled(NAME, f"{_HOLDER}: up to 40 of a-z, 0-9 and -, beginning with a letter", shown=False)]
SecretFile = Annotated[str, spelled(FILE, f"{_HOLDER}: a path that begins with / or ~, without spaces, quotes and $", shown=False)]
# Spelled so that every file which it goes into takes it as it is.
Folder = Annotated[str, spelled(r"/[^\s:'\"\\$`]*[^\s:'\"\\$`/]", "an absolute folder without spaces, quotes, colons and $ is needed")]
Word = Annotated[str, spelled(r"[A-Za-z0-9_.,@:/=+-]+", "a word of letters, digits and _.,@:/=+- is needed")]
Export = Annotated[str, spelled(r"[^\s:/'\"]+:/[^\s'\"\\$`]*", "an export is HOST:/FOLDER")]
Image = Annotated[str, spelled(r"[A-Za-z0-9][A-Za-z0-9_./-]*(:[0-9]+/[A-Za-z0-9_./-]+)?(:[A-Za-z0-9_.-]+)?(@sha256:[0-9a-f]{64})?",
                               "an image is REGISTRY/NAME:TAG or NAME@sha256:DIGEST, without https:// and without credentials", shown=False)]
Limit = Annotated[str, spelled(r"[0-9]+([:-][0-9]+){0,3}", 'a limit is MINUTES, "HOURS:MINUTES:SECONDS" or "DAYS-HOURS"')]
RayVersion = Annotated[str, spelled(r"\d+\.\d+\.\d+", "Ray's version has three numbers")]
PythonVersion = Annotated[str, spelled(r"3\.\d+", "Python's version has two numbers")]
Labels = dict[Word, Word]


def is_uri(storage: str) -> bool:
    return "://" in storage


def _place(storage: str) -> str:
    if not is_uri(storage):
        return TypeAdapter(Folder).validate_python(storage)
    if re.search(r"[\s'\"\\$`]", storage):
        raise ValueError(f"a URI without spaces, quotes and $ is needed; found {storage!r}")
    return check_uri(storage)


class Machine(Frozen):
    """One node, as Ray counts it."""

    cpus: int = Field(4, ge=1)
    memory: int = Field(16, ge=1, description="GiB")
    disk: int = Field(200, ge=20, description="GB of a virtual machine's own disk")
    instance: Word | None = Field(None, description="type of the virtual machine; one with the group's CPUs or GPUs by default")


class WorkerGroup(Machine):
    """Nodes that are alike."""

    name: Name = "workers"
    gpus: int = Field(0, ge=0, description="of one node")
    gpu_type: Word | None = Field(None, description="as Ray names it: A100, H100, L4, T4, ...; what `resources.gpu_type` asks for")
    spot: bool = Field(False, description="nodes that may be taken away at any time, and cost less")
    min: int = Field(0, ge=0, description="nodes kept when nothing runs")
    max: int = Field(4, ge=1, le=10_000)

    @model_validator(mode="after")
    def _ordered(self) -> WorkerGroup:
        if self.min > self.max:
            raise ValueError(f"min {self.min} is over max {self.max}")
        if self.gpu_type and not self.gpus:
            raise ValueError("gpu_type needs gpus: a node of this group has none")
        return self

    @property
    def labels(self) -> dict[str, str]:
        """Ray's own names for what a node is: trials and drivers choose nodes by them."""
        gpu = {"ray.io/accelerator-type": self.gpu_type} if self.gpu_type else {}
        return {"ray.io/market-type": "spot" if self.spot else "on-demand", **gpu}


class Secrets(Frozen):
    """Names of what holds the secrets; the values stay where they are."""

    token: SecretName = Field("stockpot-token", description="Kubernetes Secret with Ray's token under `auth_token`")
    mlflow: SecretName | None = Field(
        None, description="Kubernetes Secret with MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"
    )
    storage: SecretName | None = Field(None, description="Kubernetes Secret with storage's keys: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
    environment: SecretFile | None = Field(
        None, description="file of NAME=value lines, readable by its owner only (Slurm, `ray up`)"
    )

    @field_validator("*", mode="before")
    @classmethod
    def _a_name(cls, name: object) -> object:
        if name is not None and not isinstance(name, str):
            raise ValueError(f"{_HOLDER}: text")
        return name


class Slurm(Frozen):
    nodes: int = Field(1, ge=1)
    partition: Word | None = None
    account: Word | None = None
    qos: Word | None = None
    time: Limit = Field("24:00:00", description="of one allocation; the sweep goes on in the next")
    signal: int = Field(300, ge=30, le=65535, description="seconds before the limit at which the sweep stops and is queued again")
    setup: tuple[str, ...] = Field((), description="shell lines run first: modules, the virtual environment")
    options: tuple[str, ...] = Field((), description="further #SBATCH options, such as --constraint=a100")

    @field_validator("setup", "options")
    @classmethod
    def _lines(cls, lines: tuple[str, ...]) -> tuple[str, ...]:
        if any("\n" in line for line in lines):
            raise ValueError("one line each")
        return lines

    @field_validator("options")
    @classmethod
    def _an_option(cls, options: tuple[str, ...]) -> tuple[str, ...]:
        if wrong := [option for option in options if not option.startswith("-")]:
            raise ValueError(f"an option begins with -; found {wrong[0]!r}")
        return options


class Kubernetes(Frozen):
    namespace: Name = "default"
    queue: Name | None = Field(None, description="Kueue's LocalQueue")
    service_account: Name | None = None
    claim: Name | None = Field(None, description="PersistentVolumeClaim (ReadWriteMany); `nfs` is the other way")
    safe_nodes: Labels = Field({}, description="labels of nodes that are not taken away: the head goes there")
    spot_nodes: Labels = Field({}, description="labels of spot nodes: spot groups go there")
    gpu_label: Word | None = Field(None, description="label whose value is the GPU's type, such as cloud.google.com/gke-accelerator")
    gpu_values: Labels = Field({}, description="what `gpu_label` calls a gpu_type, such as A100: nvidia-tesla-a100")
    retries: int = Field(10, ge=0, description="of the whole job, each with a new cluster; every one resumes")


class Aws(Frozen):
    region: Word = "us-west-2"
    zones: tuple[Word, ...] = ()
    ami: Word | None = Field(None, description="image of the machines; Ray's default for the region otherwise")
    user: Word = "ubuntu"

    @model_validator(mode="after")
    def _inside(self) -> Aws:
        if wrong := [zone for zone in self.zones if not zone.startswith(self.region)]:
            raise ValueError(f"zone {wrong[0]} does not lie in region {self.region}")
        return self


class Gcp(Frozen):
    region: Word = "us-central1"
    zone: Word = "us-central1-a"
    project: Word | None = None
    source_image: Word = "projects/deeplearning-platform-release/global/images/family/common-gpu"
    user: Word = "ubuntu"


def _ray() -> str:
    return importlib.metadata.version("ray")


def _python() -> str:
    return ".".join(platform.python_version_tuple()[:2])


class Cluster(Frozen):
    name: Name
    storage: Annotated[str, AfterValidator(_place)] = Field(description="absolute path of a folder that every node sees, or a URI: sweeps are kept there")
    scratch: Folder = Field("/tmp/stockpot", description="where sweeps lie on each node's own disk while they run; `storage` is a URI then")
    nfs: Export | None = Field(None, description="HOST:/EXPORT, mounted on every node (Kubernetes, `ray up`)")
    mount: Folder | None = Field(None, description="where the export or claim is mounted: `storage`, unless that is a URI")
    ray: RayVersion = Field(default_factory=_ray, description="this installation's by default: both sides must agree")
    python: PythonVersion = Field(default_factory=_python)
    image: Image = Field("stockpot:latest", description="made by `stockpot cluster render docker`")
    head: Machine = Machine()
    workers: tuple[WorkerGroup, ...]
    idle_minutes: int = Field(5, ge=1, description="after which an idle worker is given back")
    mlflow: str | None = Field(None, description="tracking server, as the nodes reach it")
    secrets: Secrets = Secrets()
    slurm: Slurm = Slurm()
    kubernetes: Kubernetes = Kubernetes()
    aws: Aws = Aws()
    gcp: Gcp = Gcp()

    @field_validator("mlflow")
    @classmethod
    def _without_credentials(cls, uri: str | None) -> str | None:
        if uri is not None:
            parts = urlsplit(uri)
            if parts.scheme not in ("http", "https") or re.search(r"[\s'\"\\$`]", uri):
                raise ValueError("a tracking server's address begins with http:// or https://")
            if parts.username or parts.password:
                raise ValueError("holds credentials: leave them out and name what holds them under `secrets`")
        return uri

    @field_validator("workers")
    @classmethod
    def _distinct(cls, groups: tuple[WorkerGroup, ...]) -> tuple[WorkerGroup, ...]:
        if not groups:
            raise ValueError("at least one group is needed")
        names = [group.name for group in groups]
        if len(set(names)) < len(names) or "head" in names:
            raise ValueError(f"groups need different names, none of them `head`; found {', '.join(names)}")
        return groups

    @model_validator(mode="after")
    def _mounted_somewhere(self) -> Cluster:
        exported, kept_by_uri = bool(self.nfs or self.kubernetes.claim), is_uri(self.storage)
        problems = []
        if self.mount and not (exported and kept_by_uri):
            problems.append(Problem("mount", "says where `nfs` or a claim is mounted while `storage` is a URI: leave it out"))
        if exported and kept_by_uri and not self.mount:
            problems.append(Problem("mount", "this key is missing: storage is a URI, so say where the export or claim is mounted, or leave that out"))
        if "scratch" in self.model_fields_set and not kept_by_uri:
            problems.append(Problem("scratch", "is for a `storage` that is a URI: a folder that every node sees needs none"))
        if problems:
            raise PydanticCustomError("cluster", "parts disagree", {"problems": problems})
        return self

    @property
    def uri(self) -> str | None:
        """Where sweeps are kept on a cluster whose nodes share no disk; None with a shared folder."""
        return self.storage if is_uri(self.storage) else None

    @property
    def shared(self) -> str | None:
        """The folder that is the same on every node, if any: where the export or claim is mounted."""
        return self.mount if self.uri else self.storage

    @property
    def largest(self) -> tuple[Node, ...]:
        """Every worker that may come."""
        def node(group: WorkerGroup) -> Node:
            return Node(group.name, group.cpus, group.gpus, group.memory * 2**30 / 1e9, group.gpu_type or "")

        return tuple(node(group) for group in self.workers for _ in range(group.max))


def load(path: Path) -> Cluster:
    """Reads the YAML. Raises InputError with every problem, its line and key."""
    path = Path(path)
    data, lines = read_yaml(path)
    return validated(Cluster, data, path, lines)
