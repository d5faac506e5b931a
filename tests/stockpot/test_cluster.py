"""`stockpot cluster render`, as its user calls it."""

from __future__ import annotations

import pytest
import yaml

from tests.cluster.descriptions import EXAMPLE, ROOT
from tests.stockpot.command import stockpot


@pytest.mark.parametrize("what", ["slurm", "kuberay", "aws", "gcp", "docker", "compose"])
def test_each_kind_is_printed_and_nothing_else(what):
    done = stockpot("cluster", "render", what, EXAMPLE)
    assert done.stdout and not done.stderr
    if what not in ("slurm", "docker"):
        assert list(yaml.safe_load_all(done.stdout))


def test_a_sweep_travels_inside():
    done = stockpot("cluster", "render", "kuberay", EXAMPLE, "--sweep", ROOT / "examples" / "weights.yaml", "--out", "/mnt/sweeps/mine")
    assert [each["kind"] for each in yaml.safe_load_all(done.stdout)] == ["ConfigMap", "RayJob"]
    assert "--out /mnt/sweeps/mine" in done.stdout


def test_mistakes_are_told_without_traceback(tmp_path):
    (tmp_path / "cluster.yaml").write_text("name: lab\nstorge: /mnt\nworkers: [{gpus: 1}]\n")
    done = stockpot("cluster", "render", "slurm", tmp_path / "cluster.yaml", check=False)
    assert done.returncode == 2 and "cluster.yaml:2: storge: unknown key; did you mean 'storage'?" in done.stderr
    assert "cluster.yaml:1: storage: this key is missing" in done.stderr and "Traceback" not in done.stderr
    done = stockpot("cluster", "render", "aws", EXAMPLE, "--out", "/x", check=False)
    assert done.returncode == 2 and "aws runs no sweep" in done.stderr
    done = stockpot("cluster", "render", "slurm", tmp_path / "none.yaml", check=False)
    assert done.returncode == 2 and "cannot be read" in done.stderr
