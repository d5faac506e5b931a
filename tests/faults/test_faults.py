"""kill -9 of a worker, a raylet, the driver and MLflow's server at seeded moments: five of the hundred runs of benchmarks/faults.py."""

from __future__ import annotations

import pytest

from tests.faults.run import KINDS, Run
from tests.faults.surroundings import surroundings


@pytest.mark.parametrize("seed", range(len(KINDS)), ids=KINDS)
def test_nothing_is_lost_doubled_or_left_behind(world, tmp_path, request, seed):
    def postgres():
        return request.getfixturevalue("postgres"), request.getfixturevalue("empty_postgres")

    with surroundings(seed, tmp_path, postgres) as around:
        run = Run(world, seed, **around)
        run.go()
    assert run.blows
