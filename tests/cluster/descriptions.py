"""Clusters for the tests: the smallest, and one that uses everything."""

from __future__ import annotations

from pathlib import Path

from cluster.description import Cluster, load

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "cluster.yaml"
SMALLEST = {"name": "lab", "storage": "/mnt/sweeps", "workers": [{"gpus": 1}]}


def smallest(**changes: object) -> Cluster:
    return Cluster.model_validate({**SMALLEST, **changes})


def example() -> Cluster:
    return load(EXAMPLE)
