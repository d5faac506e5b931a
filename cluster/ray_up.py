"""Files for `ray up`: a cluster of virtual machines on AWS or GCP, in Ray's own words.

The head runs the driver and no trial, on a machine that is not taken away. Its dashboard
listens on loopback (`ray dashboard FILE` opens a tunnel), and every Ray process asks for the
token, which `ray up` copies from ~/.ray/auth_token (`ray get-auth-token --generate` makes it).
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

import yaml

from cluster.description import Cluster, Machine, WorkerGroup
from corpora.errors import InputError, Problem

TOKEN = ".ray/auth_token"
ENVIRONMENT = ".stockpot-environment"
START = "ulimit -n 65536; ray start --object-manager-port=8076"


def aws(cluster: Cluster) -> str:
    settings = cluster.aws
    provider = {"type": "aws", "region": settings.region, "cache_stopped_nodes": False}
    if settings.zones:
        provider["availability_zone"] = ",".join(settings.zones)

    def node(machine: Machine) -> dict[str, Any]:
        config: dict[str, Any] = {"InstanceType": machine.instance or _aws_instance(machine)}
        if settings.ami:
            config["ImageId"] = settings.ami
        config["BlockDeviceMappings"] = [{"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": machine.disk, "VolumeType": "gp3"}}]
        if getattr(machine, "spot", False):
            config["InstanceMarketOptions"] = {"MarketType": "spot"}
        return config

    return _render(cluster, provider, settings.user, node)


def gcp(cluster: Cluster) -> str:
    settings = cluster.gcp
    if not settings.project:
        raise InputError(Problem("gcp.project", "this key is missing: the project that pays for the machines"))
    provider = {"type": "gcp", "region": settings.region, "availability_zone": settings.zone, "project_id": settings.project}

    def node(machine: Machine) -> dict[str, Any]:
        disk = {"diskSizeGb": machine.disk, "sourceImage": settings.source_image}
        config: dict[str, Any] = {
            "machineType": machine.instance or _gcp_instance(machine),
            "disks": [{"boot": True, "autoDelete": True, "type": "PERSISTENT", "initializeParams": disk}],
        }
        scheduling: dict[str, Any] = {"preemptible": True} if getattr(machine, "spot", False) else {}
        if getattr(machine, "gpus", 0):
            config["metadata"] = {"items": [{"key": "install-nvidia-driver", "value": "True"}]}
            scheduling["onHostMaintenance"] = "TERMINATE"  # machines with GPUs cannot be moved
        if scheduling:
            config["scheduling"] = scheduling
        return config

    return _render(cluster, provider, settings.user, node)


def _render(cluster: Cluster, provider: dict[str, Any], user: str, node: Callable[[Machine], dict[str, Any]]) -> str:
    if not (cluster.nfs or cluster.uri):
        where = f"mounted at {cluster.storage} on every machine, or a URI as `storage`"
        raise InputError(Problem("nfs", f"this key is missing: HOST:/EXPORT, {where}"))
    home = "/home/ray"  # of the user inside the image
    files = {f"{home}/{TOKEN}": f"~/{TOKEN}"}
    if cluster.secrets.environment:
        files[f"{home}/{ENVIRONMENT}"] = cluster.secrets.environment
    content = {
        "cluster_name": cluster.name,
        "max_workers": sum(group.max for group in cluster.workers),
        "idle_timeout_minutes": cluster.idle_minutes,
        "provider": provider,
        "auth": {"ssh_user": user},
        "docker": {
            "image": cluster.image,
            "container_name": "stockpot",
            "pull_before_run": True,
            "run_options": ["--ulimit nofile=65536:65536", *([f"-v {cluster.shared}:{cluster.shared}"] if cluster.shared else [])],
        },
        "file_mounts": files,
        "head_node_type": "head",
        "available_node_types": {
            "head": {"resources": {"CPU": 0}, "labels": {"ray.io/market-type": "on-demand"}, "node_config": node(cluster.head)},
            **{group.name: _workers(group, node(group)) for group in cluster.workers},
        },
        "initialization_commands": _mount(cluster.nfs, cluster.shared) if cluster.nfs else [],
        "head_start_ray_commands": [
            "ray stop",
            _started("--head --port=6379 --num-cpus=0 --autoscaling-config=~/ray_bootstrap_config.yaml --dashboard-host=127.0.0.1"),
        ],
        "worker_start_ray_commands": ["ray stop", _started("--address=$RAY_HEAD_IP:6379")],
    }
    return yaml.safe_dump(content, sort_keys=False, width=120)


def _workers(group: WorkerGroup, config: dict[str, Any]) -> dict[str, Any]:
    resources = {"CPU": group.cpus, **({"GPU": group.gpus} if group.gpus else {})}
    return {"resources": resources, "labels": group.labels, "min_workers": group.min, "max_workers": group.max, "node_config": config}


def _mount(nfs: str, folder: str) -> list[str]:
    """Outside the container, before it starts; said twice it mounts once."""
    folder = shlex.quote(folder)
    return [
        "command -v mount.nfs4 >/dev/null || (sudo apt-get update -qq && sudo apt-get install -y -qq nfs-common)",
        f"sudo mkdir -p {folder}",
        f"mountpoint -q {folder} || sudo mount -t nfs4 -o hard {shlex.quote(nfs)} {folder}",
    ]


def _started(options: str) -> str:
    environment = f"if [ -f ~/{ENVIRONMENT} ]; then set -a; . ~/{ENVIRONMENT}; set +a; fi"
    return f"{environment}; export RAY_AUTH_MODE=token RAY_USAGE_STATS_ENABLED=0; {START} {options}"


def _aws_instance(machine: Machine) -> str:
    """The smallest usual machine that holds the group's GPUs, or else its CPUs and memory."""
    gpus = getattr(machine, "gpus", 0)
    if gpus:
        return _smallest({1: "g5.2xlarge", 4: "g5.12xlarge", 8: "p4d.24xlarge"}, gpus, "gpus")
    sizes = {4: "m6i.xlarge", 8: "m6i.2xlarge", 16: "m6i.4xlarge", 32: "m6i.8xlarge", 96: "m6i.24xlarge"}
    return _smallest(sizes, _cpus(machine), "cpus")


def _gcp_instance(machine: Machine) -> str:
    gpus = getattr(machine, "gpus", 0)
    if gpus:
        return _smallest({1: "g2-standard-8", 2: "g2-standard-24", 4: "g2-standard-48", 8: "a2-highgpu-8g"}, gpus, "gpus")
    return _smallest({size: f"n2-standard-{size}" for size in (4, 8, 16, 32, 80)}, _cpus(machine), "cpus")


def _cpus(machine: Machine) -> int:
    """Both families have 4 GiB a CPU."""
    return max(machine.cpus, -(-machine.memory // 4))


def _smallest(sizes: dict[int, str], needed: int, what: str) -> str:
    for size, name in sizes.items():
        if size >= needed:
            return name
    raise InputError(Problem("instance", f"no usual machine has {needed} {what}: name one by `instance`"))
