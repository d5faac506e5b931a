"""Files for `ray up`, by Ray's own schema and its own preparation of a cluster's config."""

from __future__ import annotations

import pytest
import yaml
from ray.autoscaler._private.util import prepare_config, validate_config

from cluster import ray_up
from corpora.errors import InputError
from tests.cluster.descriptions import example, smallest

CLOUDS = {"aws": ray_up.aws, "gcp": ray_up.gcp}


def prepared(cloud: str, cluster) -> dict:
    """The config as `ray up` makes it of the file, checked as `ray up` checks it."""
    config = prepare_config(yaml.safe_load(CLOUDS[cloud](cluster)))
    validate_config(config)
    return config


@pytest.mark.parametrize("cloud", CLOUDS)
@pytest.mark.parametrize(
    "cluster",
    [example(), smallest(nfs="files:/sweeps", gcp={"project": "p"}), smallest(storage="gs://bucket/sweeps", gcp={"project": "p"})],
    ids=["example", "smallest", "by-uri"],
)
def test_ray_accepts_it(cloud, cluster):
    config = prepared(cloud, cluster)
    head = config["available_node_types"][config["head_node_type"]]
    assert head["resources"] == {"CPU": 0} and head["max_workers"] == 0
    assert config["max_workers"] == sum(group.max for group in cluster.workers)
    for group in cluster.workers:
        node = config["available_node_types"][group.name]
        assert (node["min_workers"], node["max_workers"]) == (group.min, group.max)
        assert node["resources"].get("GPU", 0) == group.gpus and node["labels"] == group.labels


@pytest.mark.parametrize("cloud", CLOUDS)
def test_spot_is_for_workers_that_ask_for_it(cloud):
    nodes = prepared(cloud, example())["available_node_types"]
    spot = {"aws": lambda node: "InstanceMarketOptions" in node, "gcp": lambda node: node.get("scheduling", {}).get("preemptible", False)}
    assert {name for name, node in nodes.items() if spot[cloud](node["node_config"])} == {"a100"}


@pytest.mark.parametrize("cloud", CLOUDS)
def test_only_the_token_opens_it(cloud):
    config = prepared(cloud, example())
    head, worker = config["head_start_ray_commands"][-1], config["worker_start_ray_commands"][-1]
    assert "--dashboard-host=127.0.0.1" in head and "--num-cpus=0" in head
    assert all("RAY_AUTH_MODE=token" in command for command in (head, worker))
    assert config["file_mounts"]["/home/ray/.ray/auth_token"] == "~/.ray/auth_token"


def test_what_is_missing_is_said():
    with pytest.raises(InputError, match="nfs: this key is missing"):
        ray_up.aws(smallest())
    with pytest.raises(InputError, match=r"gcp.project: this key is missing"):
        ray_up.gcp(smallest(nfs="files:/sweeps"))
    with pytest.raises(InputError, match="no usual machine has 16 gpus: name one by `instance`"):
        ray_up.aws(smallest(nfs="files:/sweeps", workers=[{"gpus": 16}]))


def test_with_a_uri_nothing_is_mounted_but_what_is_named():
    def mounted(cluster) -> tuple[list[str], list[str]]:
        content = yaml.safe_load(ray_up.aws(cluster))
        return [option for option in content["docker"]["run_options"] if option.startswith("-v")], content["initialization_commands"]

    assert mounted(smallest(storage="s3://bucket/sweeps")) == ([], [])
    volumes, commands = mounted(smallest(storage="s3://bucket/sweeps", nfs="files:/data", mount="/mnt/data"))
    assert volumes == ["-v /mnt/data:/mnt/data"] and commands[-1].endswith("sudo mount -t nfs4 -o hard files:/data /mnt/data")


def test_machines_are_large_enough():
    nodes = yaml.safe_load(ray_up.aws(smallest(nfs="f:/s", workers=[{"cpus": 4, "memory": 100}])))["available_node_types"]
    assert nodes["workers"]["node_config"]["InstanceType"] == "m6i.8xlarge"  # 32 CPUs, 128 GiB
