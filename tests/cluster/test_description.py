"""One description of a cluster: three lines suffice, and every mistake is named with its line and key."""

from __future__ import annotations

import importlib.metadata
import platform

import pytest

from cluster.description import load
from corpora.errors import InputError
from tests.cluster.descriptions import example


def written(tmp_path, text: str):
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    return path


def test_three_lines_suffice(tmp_path):
    cluster = load(written(tmp_path, "name: lab\nstorage: /mnt/sweeps\nworkers: [{gpus: 1}]\n"))
    assert cluster.workers[0].gpus == 1 and cluster.head.cpus == 4
    assert cluster.ray == importlib.metadata.version("ray")
    assert platform.python_version().startswith(cluster.python + ".")


def test_the_example_shows_every_section():
    cluster = example()
    assert {group.name for group in cluster.workers} == {"a100", "cpu"}
    assert cluster.workers[0].labels == {"ray.io/market-type": "spot", "ray.io/accelerator-type": "A100"}
    assert cluster.workers[1].labels == {"ray.io/market-type": "on-demand"}


def test_everything_wrong_at_once(tmp_path):
    text = (
        "name: My Lab\nstorage: s3://key:secret@bucket/sweeps\nmlflow: https://me:pass@mlflow.org\n"
        "workers:\n  - gpu: 1\n  - {min: 5, max: 2}\n  - {gpu_type: A100}\nslurm: {signal: 5, options: [constraint=a100]}\n"
    )
    with pytest.raises(InputError) as caught:
        load(written(tmp_path, text))
    found = [str(problem).removeprefix(str(tmp_path)) for problem in caught.value.problems]
    for expected in (
        "/cluster.yaml:1: name: a name is up to 40 of a-z",
        "/cluster.yaml:2: storage: a storage's URI holds no keys",
        "/cluster.yaml:3: mlflow: holds credentials",
        "/cluster.yaml:5: workers.0.gpu: unknown key; did you mean 'gpus'?",
        "/cluster.yaml:6: workers.1: min 5 is over max 2",
        "/cluster.yaml:7: workers.2: gpu_type needs gpus",
        "/cluster.yaml:8: slurm.signal: ",
        "/cluster.yaml:8: slurm.options: an option begins with -",
    ):
        assert any(line.startswith(expected) for line in found), (expected, found)
    assert len(found) == 8


def test_groups_have_names_of_their_own(tmp_path):
    with pytest.raises(InputError, match="groups need different names"):
        load(written(tmp_path, "name: lab\nstorage: /mnt\nworkers: [{gpus: 1}, {gpus: 2}]\n"))


def test_a_cluster_has_workers(tmp_path):
    with pytest.raises(InputError, match="at least one group"):
        load(written(tmp_path, "name: lab\nstorage: /mnt\nworkers: []\n"))


@pytest.mark.parametrize("storage", ["sweeps", "/mnt/$(rm)", "/mnt/a b", "/mnt/`x`", "/"])
def test_a_folder_that_no_script_could_misread(tmp_path, storage):
    with pytest.raises(InputError, match="storage"):
        load(written(tmp_path, f"name: lab\nstorage: '{storage}'\nworkers: [{{}}]\n"))


def test_storage_by_uri(tmp_path):
    cluster = load(written(tmp_path, "name: lab\nstorage: s3://bucket/sweeps?region=eu-west-1\nworkers: [{gpus: 1}]\n"))
    assert (cluster.uri, cluster.shared, cluster.scratch) == ("s3://bucket/sweeps?region=eu-west-1", None, "/tmp/stockpot")
    folder = load(written(tmp_path, "name: lab\nstorage: /mnt/sweeps\nworkers: [{gpus: 1}]\n"))
    assert (folder.uri, folder.shared) == (None, "/mnt/sweeps")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("storage: s3://b/x\nnfs: files:/data\n", "mount: this key is missing: storage is a URI, so say where the export or claim is mounted"),
        ("storage: s3://b/x\nmount: /mnt\n", "mount: says where `nfs` or a claim is mounted"),
        ("storage: /mnt/x\nnfs: files:/data\nmount: /mnt\n", "mount: says where `nfs` or a claim is mounted"),
        ("storage: /mnt/x\nscratch: /x\n", "scratch: is for a `storage` that is a URI"),
        ("storage: s3://\n", "storage: 's3://' names no bucket: s3://BUCKET/..."),
        ("storage: s3://b/$(rm)\n", "a URI without spaces, quotes and"),
    ],
)
def test_what_is_mounted_where_is_said_once(tmp_path, more, told):
    with pytest.raises(InputError, match=told):
        load(written(tmp_path, f"name: lab\nworkers: [{{}}]\n{more}"))


@pytest.mark.parametrize(
    "more",
    [
        "secrets: {token: 809dc2b168344a0653996adc78edae740fbddca459843dcecb1da5c727f9e6c3}",
        'secrets: {mlflow: "hunter2 hunter2!"}', "secrets: {storage: AKIAHUNTER2/hunter2}", "secrets: {environment: AWS_SECRET_ACCESS_KEY=hunter2}",
        "secrets: {token: {value: hunter2}}", "secrets: {token: [hunter2]}", "image: https://u:hunter2@reg/x:1", "image: u:hunter2@reg/x:1",
    ],
)  # fmt: skip
def test_a_secret_where_its_name_belongs_is_refused_and_not_shown(tmp_path, more):
    with pytest.raises(InputError) as refused:
        load(written(tmp_path, f"name: lab\nstorage: /mnt/x\nworkers: [{{}}]\n{more}\n"))
    told = str(refused.value)
    assert "hunter2" not in told and "809dc2" not in told
    assert "never the secret itself" in told or "without credentials" in told


@pytest.mark.parametrize("image", ["stockpot:latest", "registry.internal/team/stockpot:1.0", "reg:5000/x", "reg:5000/x:1", f"a/b@sha256:{'0' * 64}"])
def test_images_as_registries_name_them(tmp_path, image):
    assert load(written(tmp_path, f"name: lab\nstorage: /mnt/x\nworkers: [{{}}]\nimage: {image}\n")).image == image


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("aws: {region: us-west-2, zones: [eu-west-1a]}", "aws: zone eu-west-1a does not lie in region us-west-2"),
        ("ray: 2.60", "ray: text is needed \\(found 2.6\\): put it in quotes"),
        ("python: 3.11", "python: text is needed \\(found 3.11\\): put it in quotes"),
    ],
)
def test_what_no_cluster_has_is_refused(tmp_path, more, told):
    with pytest.raises(InputError, match=told):
        load(written(tmp_path, f"name: lab\nstorage: /mnt/x\nworkers: [{{}}]\n{more}\n"))
