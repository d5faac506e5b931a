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


@pytest.fixture
def tools(tmp_path):
    """Stand-ins for sbatch, kubectl and ray that keep what they were given: an environment whose PATH has them alone."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("sbatch", "kubectl", "ray"):
        (folder / tool).write_text(f'#!/bin/sh\n/bin/cat > {tmp_path}/{tool}.stdin\necho "{tool} $*"\n')
        (folder / tool).chmod(0o755)
    return {"PATH": str(folder), "HOME": str(tmp_path)}


def test_submit_hands_the_rendered_file_to_the_tool(tools, tmp_path):
    weights = ROOT / "examples" / "weights.yaml"
    sent = {"--slurm": ("sbatch", "slurm", "sbatch"), "--kuberay": ("kubectl", "kuberay", "kubectl apply -f -")}
    for option, (tool, what, said) in sent.items():
        done = stockpot("submit", weights, option, "--cluster", EXAMPLE, env=tools)
        assert done.stdout.strip() == said
        rendered = stockpot("cluster", "render", what, EXAMPLE, "--sweep", weights).stdout
        assert (tmp_path / f"{tool}.stdin").read_text() == rendered
    done = stockpot("submit", weights, "--up", "aws", "--cluster", EXAMPLE, env=tools)
    kept = tmp_path / ".stockpot" / "lab.yaml"
    assert f"ray down {kept}" in done.stdout and yaml.safe_load(kept.read_text())["provider"]["type"] == "aws"


def test_submit_says_what_it_lacks(tools, tmp_path):
    weights = ROOT / "examples" / "weights.yaml"
    for options, told in (
        ([], "say where to: one of --address URL"),
        (["--slurm", "--kuberay"], "say where to: one of --address URL"),
        (["--slurm"], "--cluster: needed with --slurm"),
        (["--address", "http://127.0.0.1:1"], "--out: give an absolute folder that every node sees"),
        (["--address", "http://127.0.0.1:1", "--out", "/x", "--driver-on", "spot"], "a Ray label is NAME=VALUE"),
    ):
        done = stockpot("submit", weights, *options, check=False)
        assert done.returncode == 2 and told in done.stderr, (options, done.stderr)
    done = stockpot("submit", weights, "--slurm", "--cluster", EXAMPLE, env={"PATH": str(tmp_path)}, check=False)
    assert done.returncode == 2 and "--slurm: sbatch is not on this machine" in done.stderr
    greedy = tmp_path / "greedy.yaml"
    greedy.write_text(weights.read_text().replace("{slots: 2, cpus: 1}", "{slots: 2, cpus: 1, gpus: 8}"))
    done = stockpot("submit", greedy, "--slurm", "--cluster", EXAMPLE, env=tools, check=False)
    assert done.returncode == 2 and "8 GPUs asked for each trial; no worker of lab has them" in done.stderr
