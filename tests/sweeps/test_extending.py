"""A larger budget extends a sweep; everything else is refused by its key, all at once."""

from __future__ import annotations

import pytest

from corpora.errors import InputError
from sweeps.config import SweepConfig
from sweeps.extending import check_same
from tests.sweeps.test_conductor import Simulation, config

CONTENT = {
    "name": "n", "corpora": {"generate": "quick"}, "recipe": {"weight": {"uniform": [0, 1]}},
    "search": {"sampler": "random", "trials": 4}, "budget": {"hours": 2},
}  # fmt: skip


def recorded() -> dict:
    return SweepConfig.model_validate(CONTENT).model_dump(mode="json", by_alias=True)


def changed(**sections) -> SweepConfig:
    return SweepConfig.model_validate({**CONTENT, **sections})


def test_the_same_config_extends_nothing_also_when_a_later_version_knows_more_keys():
    before = recorded()
    del before["resources"], before["soup"]
    assert not check_same(before, changed())


@pytest.mark.parametrize(
    "sections",
    [{"search": {"sampler": "random", "trials": 9}}, {"budget": {"hours": 3}}, {"budget": {}}],
)
def test_a_larger_budget_extends(sections):
    assert check_same(recorded(), changed(**sections))


def test_every_other_change_is_named():
    with pytest.raises(InputError) as error:
        check_same(recorded(), changed(
            search={"sampler": "tpe", "trials": 3}, budget={"hours": 1}, recipe={"weight": {"uniform": [0, 0.5]}},
        ))  # fmt: skip
    told = {problem.where: problem.message for problem in error.value.problems}
    assert set(told) == {"--resume: search.sampler", "--resume: search.trials", "--resume: budget.hours", "--resume: recipe.weight.uniform"}
    assert "it may grow, not shrink" in told["--resume: search.trials"] and "is 3 now" in told["--resume: search.trials"]
    assert "tpe" in told["--resume: search.sampler"] and "random" in told["--resume: search.sampler"]


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_an_extended_sweep_equals_one_that_was_so_large_from_the_start(tmp_path, sampler):
    search = {"sampler": sampler, "seed": 1, "startup": 4, "objectives": [{"metric": "context/Answer@10"}]}
    small, large = (config("deterministic", search={**search, "trials": trials}) for trials in (8, 14))
    whole = Simulation(large, tmp_path / "whole", 1)
    whole.run()
    grown = Simulation(small, tmp_path / "grown", 2)
    grown.run()
    assert len(grown.conductor.trials) == 8
    grown.settings = large
    grown.begin()
    grown.run()
    assert _decided(grown) == _decided(whole) and len(_decided(whole)) == 14


def _decided(simulation: Simulation) -> dict:
    return {ordinal: (trial.params, trial.status, sorted(trial.reports)) for ordinal, trial in simulation.conductor.trials.items()}
