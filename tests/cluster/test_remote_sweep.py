"""A sweep as it travels: where it lies on the nodes, where it is kept, and what every node is asked about."""

from __future__ import annotations

import pytest
import yaml

from cluster.remote_sweep import RemoteSweep, below
from corpora.errors import InputError
from sweeps import config
from tests.cluster.descriptions import ROOT, smallest


def loaded(tmp_path, **changes: object) -> config.SweepConfig:
    content = yaml.safe_load((ROOT / "examples" / "weights.yaml").read_text())
    path = tmp_path / "sweep.yaml"
    path.write_text(yaml.safe_dump({**content, "name": "my sweep", **changes}))
    return config.load(path)


BY_URI = {"storage": "s3://bucket/sweeps?scheme=http"}


@pytest.mark.parametrize(
    ("sweep", "cluster", "out", "storage"),
    [
        ({}, {"storage": "/mnt/sweeps"}, "/mnt/sweeps/my-sweep", None),
        ({}, BY_URI, "/tmp/stockpot/my-sweep", "s3://bucket/sweeps/my-sweep?scheme=http"),
        ({}, {**BY_URI, "scratch": "/scratch"}, "/scratch/my-sweep", "s3://bucket/sweeps/my-sweep?scheme=http"),
        ({"storage": "gs://own/place"}, BY_URI, "/tmp/stockpot/my-sweep", "gs://own/place"),
        ({"storage": "gs://own/place"}, {"storage": "/mnt/sweeps"}, "/mnt/sweeps/my-sweep", "gs://own/place"),
        ({"storage": "gs://own/place"}, None, "/tmp/stockpot/my-sweep", "gs://own/place"),
    ],
)
def test_where_it_lies_and_where_it_is_kept(tmp_path, sweep, cluster, out, storage):
    remote = RemoteSweep.of(loaded(tmp_path, **sweep), None, cluster and smallest(**cluster))
    assert (remote.out, remote.config.storage) == (out, storage)
    assert yaml.safe_load(remote.yaml).get("storage") == storage
    assert RemoteSweep.of(loaded(tmp_path, **sweep), "/own/out", cluster and smallest(**cluster)).out == "/own/out"


def test_without_either_there_is_no_place(tmp_path):
    with pytest.raises(InputError, match="--out: give an absolute folder that every node sees, a CLUSTER.yaml"):
        RemoteSweep.of(loaded(tmp_path), None)


def test_below():
    assert below("s3://b/x/", "n") == "s3://b/x/n" and below("s3://b/x?a=b&c=d", "n") == "s3://b/x/n?a=b&c=d"


def test_every_node_must_see_the_corpora_unless_storage_hands_on_what_is_made_of_them(tmp_path):
    named = {name: str(tmp_path / name) for name in ("one", "two", "dev", "encoder")}
    given = {"corpora": {"train": ["one", {"folder": "two", "weight": 2}], "dev": "dev"}, "student": {"encoder": named["encoder"]}}
    corpora = [named["one"], named["two"], named["dev"]]
    asked = RemoteSweep.of(loaded(tmp_path, **given), "/out").asked
    assert (asked["inputs"], asked["driver_inputs"]) == ([*corpora, named["encoder"]], [])
    asked = RemoteSweep.of(loaded(tmp_path, **given, storage="s3://b/x"), "/out").asked
    assert (asked["inputs"], asked["driver_inputs"]) == ([named["encoder"]], corpora)
