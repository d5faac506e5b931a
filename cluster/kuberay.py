"""The cluster on Kubernetes: KubeRay's RayCluster, or a RayJob that brings its own and resumes when it is lost.

The head holds the driver and no trial (`num-cpus: 0`) and goes to safe nodes; workers come
and go with the autoscaler. A RayJob that fails is tried again with a new cluster
(`backoffLimit`): `--resume` goes on from the shared folder, or from storage, whose lease lets one driver write.
"""

from __future__ import annotations

import shlex
from typing import Any

import yaml

from cluster.description import Cluster, Machine, WorkerGroup
from cluster.remote_sweep import RemoteSweep
from corpora.errors import InputError, Problem

SWEEP_AT = "/etc/stockpot/sweep.yaml"
API = "ray.io/v1"


def render(cluster: Cluster, sweep: RemoteSweep | None = None) -> str:
    """YAML for `kubectl apply -f -`: with a sweep its ConfigMap and RayJob, else a RayCluster to submit to."""
    _check(cluster)
    return yaml.safe_dump_all(manifests(cluster, sweep), sort_keys=False, width=120, allow_unicode=True)


def manifests(cluster: Cluster, sweep: RemoteSweep | None) -> list[dict[str, Any]]:
    spec = _cluster_spec(cluster, mounted=sweep is not None)
    if sweep is None:
        return [{"apiVersion": API, "kind": "RayCluster", "metadata": _metadata(cluster), "spec": spec}]
    run = ["exec", "stockpot", "sweep", SWEEP_AT, "--out", sweep.out, "--resume", "--or-start"]
    job = {
        "entrypoint": " ".join(map(shlex.quote, run)),
        "submissionMode": "K8sJobMode",
        "backoffLimit": cluster.kubernetes.retries,
        "shutdownAfterJobFinishes": True,
        "ttlSecondsAfterFinished": 600,
        # Ray ends a job that is stopped after 3 seconds; a driver needs longer to close its ledger.
        "runtimeEnvYAML": yaml.safe_dump({"env_vars": {"RAY_JOB_STOP_WAIT_TIME_S": "120"}}),
        "rayClusterSpec": spec,
    }
    metadata = _metadata(cluster, queued=False)
    held = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"sweep.yaml": sweep.yaml}}
    return [held, {"apiVersion": API, "kind": "RayJob", "metadata": _metadata(cluster), "spec": job}]


def _check(cluster: Cluster) -> None:
    k8s, problems = cluster.kubernetes, []
    if not (cluster.uri or k8s.claim or cluster.nfs):
        cure = "name a ReadWriteMany claim, give `nfs`, or a URI as `storage`"
        problems.append(Problem("kubernetes.claim", f"{cure}: pods share no {cluster.storage} otherwise"))
    for number, group in enumerate(cluster.workers):
        if group.spot and not k8s.spot_nodes:
            message = "give the labels of your spot nodes, such as cloud.google.com/gke-spot: 'true'"
            problems.append(Problem("kubernetes.spot_nodes", f"workers.{number} ({group.name}) asks for spot nodes: {message}"))
        if group.gpu_type and k8s.gpu_label and group.gpu_type not in k8s.gpu_values:
            problems.append(Problem("kubernetes.gpu_values", f"says nothing of {group.gpu_type}: what does {k8s.gpu_label} call it?"))
    if problems:
        raise InputError(problems)


def _metadata(cluster: Cluster, queued: bool = True) -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": "stockpot", "app.kubernetes.io/instance": cluster.name}
    if queued and cluster.kubernetes.queue:
        labels["kueue.x-k8s.io/queue-name"] = cluster.kubernetes.queue
    return {"name": cluster.name, "namespace": cluster.kubernetes.namespace, "labels": labels}


def _cluster_spec(cluster: Cluster, mounted: bool) -> dict[str, Any]:
    return {
        "rayVersion": cluster.ray,
        "authOptions": {"mode": "token", "secretName": cluster.secrets.token},
        "enableInTreeAutoscaling": True,
        "autoscalerOptions": {"version": "v2", "upscalingMode": "Default", "idleTimeoutSeconds": cluster.idle_minutes * 60},
        "headGroupSpec": {
            # The dashboard, by which jobs are submitted, is a service inside the cluster; the token guards it.
            "serviceType": "ClusterIP",
            "rayStartParams": {"num-cpus": "0", "dashboard-host": "0.0.0.0"},
            "labels": {"ray.io/market-type": "on-demand"},
            "template": _pod(cluster, cluster.head, "ray-head", cluster.kubernetes.safe_nodes, mounted),
        },
        "workerGroupSpecs": [_workers(cluster, group) for group in cluster.workers],
    }


def _workers(cluster: Cluster, group: WorkerGroup) -> dict[str, Any]:
    k8s = cluster.kubernetes
    nodes = dict(k8s.spot_nodes if group.spot else k8s.safe_nodes)
    if group.gpu_type and k8s.gpu_label:
        nodes[k8s.gpu_label] = k8s.gpu_values[group.gpu_type]
    start = {"num-cpus": str(group.cpus), **({"num-gpus": str(group.gpus)} if group.gpus else {})}
    return {
        "groupName": group.name,
        "replicas": group.min,
        "minReplicas": group.min,
        "maxReplicas": group.max,
        "rayStartParams": start,
        "labels": group.labels,
        "template": _pod(cluster, group, "ray-worker", nodes, mounted=False),
    }


def _pod(cluster: Cluster, machine: Machine, name: str, nodes: dict[str, str], mounted: bool) -> dict[str, Any]:
    k8s = cluster.kubernetes
    gpus = getattr(machine, "gpus", 0)
    size: dict[str, Any] = {"cpu": str(machine.cpus), "memory": f"{machine.memory}Gi", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    objects = {"medium": "Memory", "sizeLimit": f"{max(1, machine.memory // 4)}Gi"}  # Ray's object store
    volumes: list[dict[str, Any]] = [{"name": "shm", "emptyDir": objects}]
    mounts: list[dict[str, Any]] = [{"name": "shm", "mountPath": "/dev/shm"}]
    if cluster.shared:
        volumes.append({"name": "storage", **_shared(cluster)})
        mounts.append({"name": "storage", "mountPath": cluster.shared})
    if cluster.uri:  # the sweep's folder, as long as the pod lives: storage keeps it
        volumes.append({"name": "scratch", "emptyDir": {}})
        mounts.append({"name": "scratch", "mountPath": cluster.scratch})
    if mounted:
        volumes.append({"name": "sweep", "configMap": {"name": cluster.name}})
        mounts.append({"name": "sweep", "mountPath": SWEEP_AT.rpartition("/")[0], "readOnly": True})
    container: dict[str, Any] = {
        "name": name,
        "image": cluster.image,
        "env": [{"name": "RAY_USAGE_STATS_ENABLED", "value": "0"}],
        "resources": {"requests": size, "limits": size},
        "volumeMounts": mounts,
    }
    secrets = [name for name in (cluster.secrets.mlflow, cluster.secrets.storage) if name]
    if secrets:
        container["envFrom"] = [{"secretRef": {"name": name}} for name in secrets]
    spec: dict[str, Any] = {"containers": [container], "volumes": volumes}
    if nodes:
        spec["nodeSelector"] = dict(nodes)
        # Clouds taint spot nodes with the label that they carry.
        spec["tolerations"] = [{"key": key, "operator": "Equal", "value": value, "effect": "NoSchedule"} for key, value in nodes.items()]
    if gpus:
        spec.setdefault("tolerations", []).append({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"})
    if k8s.service_account:
        spec["serviceAccountName"] = k8s.service_account
    return {"spec": spec}


def _shared(cluster: Cluster) -> dict[str, Any]:
    if cluster.kubernetes.claim:
        return {"persistentVolumeClaim": {"claimName": cluster.kubernetes.claim}}
    server, _, path = cluster.nfs.partition(":")
    return {"nfs": {"server": server, "path": path}}
