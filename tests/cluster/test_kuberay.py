"""The manifests against KubeRay's own definitions and Kubernetes' own schema, unknown fields refused."""

from __future__ import annotations

import copy
import shlex

import pytest
import yaml

from cluster import kuberay
from cluster.remote_sweep import RemoteSweep
from corpora.errors import InputError
from sweeps import config
from sweeps.config import SweepConfig
from tests.cluster.crd import problems, strict_schema
from tests.cluster.descriptions import ROOT, example, smallest


@pytest.fixture(scope="module")
def definitions(shared):
    """The definitions of RayCluster and RayJob, closed."""
    folder = shared / "formats" / "kuberay"
    return {kind: strict_schema(folder / f"ray.io_{kind.lower()}s.yaml") for kind in ("RayCluster", "RayJob")}


def remote(cluster=None) -> RemoteSweep:
    return RemoteSweep.of(config.load(ROOT / "examples" / "weights.yaml"), None, cluster or example())


def parsed(cluster, sweep=None) -> dict[str, dict]:
    return {each["kind"]: each for each in yaml.safe_load_all(kuberay.render(cluster, sweep))}


BY_URI = {"storage": "s3://bucket/sweeps?region=us-east-1", "secrets": {"storage": "s3-keys"}}
CLUSTERS = {
    "smallest": lambda: smallest(nfs="files:/sweeps"), "example": example, "by-uri": lambda: smallest(**BY_URI),
    "by-uri-with-data": lambda: smallest(**BY_URI, mount="/mnt/data", kubernetes={"claim": "data"}),
}  # fmt: skip


@pytest.mark.parametrize("which", CLUSTERS)
def test_definitions_accept_them_whole(definitions, which):
    cluster = CLUSTERS[which]()
    job, ray_cluster = parsed(cluster, remote(cluster))["RayJob"], parsed(cluster)["RayCluster"]
    assert problems(definitions["RayJob"], job) == []
    assert problems(definitions["RayCluster"], ray_cluster) == []


def test_the_check_itself_sees_unknown_and_wrong_fields(definitions):
    job = parsed(example(), remote())["RayJob"]
    broken = copy.deepcopy(job)
    broken["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]["volumeMounts"][0]["path"] = "/x"
    broken["spec"]["backoffLimit"] = "ten"
    found = problems(definitions["RayJob"], broken)
    assert len(found) == 2 and any("'path' was unexpected" in line for line in found) and any("'ten'" in line for line in found)


def pods(manifests: dict[str, dict]) -> list[dict]:
    spec = manifests["RayJob"]["spec"]["rayClusterSpec"] if "RayJob" in manifests else manifests["RayCluster"]["spec"]
    templates = [spec["headGroupSpec"]["template"], *(group["template"] for group in spec["workerGroupSpecs"])]
    return [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, **template} for template in templates]


@pytest.mark.parametrize("which", CLUSTERS)
def test_kubernetes_accepts_the_pods_and_the_config_map(which):
    validate = pytest.importorskip("kubernetes_validate", reason="pip install kubernetes-validate to check core objects")
    manifests = parsed(CLUSTERS[which](), remote(CLUSTERS[which]()))
    for each in (manifests["ConfigMap"], *pods(manifests)):
        validate.validate(each, "1.32", strict=True)


def test_the_head_is_safe_and_holds_no_trial():
    spec = parsed(example())["RayCluster"]["spec"]
    head = spec["headGroupSpec"]
    assert head["rayStartParams"]["num-cpus"] == "0"
    assert head["template"]["spec"]["nodeSelector"] == {"cloud.google.com/gke-nodepool": "safe"}
    gpu = spec["workerGroupSpecs"][0]
    assert gpu["template"]["spec"]["nodeSelector"] == {
        "cloud.google.com/gke-spot": "true", "cloud.google.com/gke-accelerator": "nvidia-tesla-a100",
    }  # fmt: skip
    assert gpu["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert (gpu["minReplicas"], gpu["maxReplicas"]) == (0, 4) and spec["enableInTreeAutoscaling"]


def test_a_job_is_queued_retried_and_resumes():
    job = parsed(example(), remote())["RayJob"]
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "research"
    assert job["spec"]["backoffLimit"] == 10 and job["spec"]["shutdownAfterJobFinishes"]
    command = shlex.split(job["spec"]["entrypoint"])
    assert command == ["exec", "stockpot", "sweep", kuberay.SWEEP_AT, "--out", "/mnt/sweeps/weights", "--resume", "--or-start"]


def test_the_sweep_arrives_as_it_was():
    held = parsed(example(), remote())["ConfigMap"]["data"]["sweep.yaml"]
    arrived, sent = SweepConfig.model_validate(yaml.safe_load(held)), remote().config
    assert arrived == sent and arrived.sha256 == sent.sha256 and arrived.mlflow.uri == "https://mlflow.internal"


def test_secrets_are_named_and_never_held():
    spec = parsed(example())["RayCluster"]["spec"]
    assert spec["authOptions"] == {"mode": "token", "secretName": "stockpot-token"}
    for pod in pods(parsed(example())):
        assert pod["spec"]["containers"][0]["envFrom"] == [{"secretRef": {"name": "stockpot-mlflow"}}]


def test_with_a_uri_no_volume_is_shared_and_keys_come_from_a_secret():
    cluster = smallest(**BY_URI)
    manifests = parsed(cluster, remote(cluster))
    held = SweepConfig.model_validate(yaml.safe_load(manifests["ConfigMap"]["data"]["sweep.yaml"]))
    assert held.storage == "s3://bucket/sweeps/weights?region=us-east-1"
    assert shlex.split(manifests["RayJob"]["spec"]["entrypoint"])[4:6] == ["--out", "/tmp/stockpot/weights"]
    for pod in pods(manifests):
        container = pod["spec"]["containers"][0]
        assert container["envFrom"] == [{"secretRef": {"name": "s3-keys"}}]
        assert {volume["name"]: volume.get("emptyDir") for volume in pod["spec"]["volumes"]}["scratch"] == {}
        assert not any("nfs" in volume or "persistentVolumeClaim" in volume for volume in pod["spec"]["volumes"])
        assert "/tmp/stockpot" in [mount["mountPath"] for mount in container["volumeMounts"]]


def test_what_kubernetes_would_leave_pending_is_refused():
    with pytest.raises(InputError) as caught:
        kuberay.render(smallest(workers=[{"gpus": 1, "spot": True, "gpu_type": "A100"}], kubernetes={"gpu_label": "gpu"}))
    assert [problem.where for problem in caught.value.problems] == [
        "kubernetes.claim", "kubernetes.spot_nodes", "kubernetes.gpu_values",
    ]  # fmt: skip


def test_a_sweep_with_credentials_does_not_travel():
    loaded = config.load(ROOT / "examples" / "weights.yaml")
    told = loaded.model_copy(update={"mlflow": loaded.mlflow.model_copy(update={"uri": "https://me:hidden@mlflow.internal"})})
    with pytest.raises(InputError, match="holds credentials") as caught:
        RemoteSweep.of(told, "out")
    assert "hidden" not in str(caught.value) and "give an absolute folder" in str(caught.value)
