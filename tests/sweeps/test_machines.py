"""What fits on the machines that trials would run on."""

from __future__ import annotations

import pytest

from corpora.errors import InputError
from sweeps.config import Resources
from sweeps.machines import Machine, problems, ray_machines, this_machine, warnings

NODES = [Machine("10.0.0.1", 8, 2, 64), Machine("10.0.0.2", 4, 1, 8, "A100")]


@pytest.mark.parametrize(
    ("asked", "memory", "slots"),
    [
        ({"cpus": 1}, 0, [8, 4]),
        ({"cpus": 3}, 0, [2, 1]),
        ({"cpus": 1, "gpus": 1}, 0, [2, 1]),
        ({"cpus": 1, "gpus": 0.5}, 0, [4, 2]),
        ({"cpus": 0.1}, 0, [80, 40]),
        ({"cpus": 1}, 5, [8, 1]),
        ({"cpus": 1, "memory": 5}, 0, [8, 1]),
        ({"cpus": 1, "memory": 9}, 5, [7, 0]),
        ({"cpus": 1, "gpus": 1, "gpu_type": "A100"}, 0, [0, 1]),
    ],
)
def test_the_scarcest_thing_decides(asked, memory, slots):
    assert [node.slots(Resources(**asked), memory) for node in NODES] == slots


def test_a_trial_that_no_node_holds_is_a_problem_and_one_that_waits_a_warning():
    (problem,) = problems(Resources(cpus=4, gpus=4), NODES)
    assert problem.where == "resources" and "1 x (8 CPUs, 2 GPUs, 64 GB); 1 x (4 CPUs, 1 A100 GPUs, 8 GB)" in problem.message
    assert list(problems(Resources(cpus=4, gpus=1), NODES)) == []
    (warning,) = warnings(Resources(slots=4, gpus=1), NODES, 1.0)
    assert "3 fit: the others wait" in warning.message
    (warning,) = warnings(Resources(slots=8), NODES, 20.0)
    assert warning.where == "memory" and "3 fit into memory" in warning.message
    assert list(warnings(Resources(slots=3, gpus=1), NODES, 1.0)) == []


def test_this_machine_shares_its_cpus_but_not_its_accelerators():
    here = [this_machine()]
    assert here[0].cpus >= 1 and here[0].memory_gb > 0.5
    assert list(problems(Resources(cpus=1000), here)) == []
    assert [problem.where for problem in problems(Resources(gpus=64), here)] == ["resources.gpus"]
    assert any("they will share" in warning.message for warning in warnings(Resources(slots=1000), here, 0.001))


def test_a_cluster_that_is_not_there_is_the_users_mistake():
    with pytest.raises(InputError, match="RAY_ADDRESS: no Ray cluster answers at 127.0.0.1:1"):
        ray_machines("127.0.0.1:1")
