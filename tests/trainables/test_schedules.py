from __future__ import annotations

import pytest

from trainables.recipe import Recipe
from trainables.schedules import learning_rate


def test_rises_stays_and_falls():
    recipe = Recipe(steps=10, warmup_steps=3, decay_steps=2, learning_rate=1.2)
    rates = [learning_rate(recipe, step) for step in range(10)]
    assert rates == pytest.approx([0.3, 0.6, 0.9, 1.2, 1.2, 1.2, 1.2, 1.2, 0.8, 0.4])


def test_no_warm_up_and_no_decay_is_constant():
    recipe = Recipe(steps=3, warmup_steps=0, decay_steps=0, learning_rate=0.5)
    assert [learning_rate(recipe, step) for step in range(3)] == [0.5] * 3


def test_more_warm_up_and_decay_than_steps_takes_the_lower():
    recipe = Recipe(steps=4, warmup_steps=9, decay_steps=9, learning_rate=1.0)
    assert [learning_rate(recipe, step) for step in range(4)] == pytest.approx([0.1, 0.2, 0.2, 0.1])


@pytest.mark.parametrize("step", [-1, 3])
def test_a_step_outside_the_recipe_is_refused(step):
    with pytest.raises(ValueError, match="of 3 steps"):
        learning_rate(Recipe(steps=3), step)
