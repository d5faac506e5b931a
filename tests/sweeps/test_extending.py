"""A larger budget extends a sweep; everything else is refused by its key, all at once."""

from __future__ import annotations

import pytest

from corpora.errors import InputError
from sweeps.config import SweepConfig
from sweeps.extending import check_same

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
