"""The one setting that stands for a whole space."""

from __future__ import annotations

import math

from sweeps.default_setting import default_setting
from sweeps.space_reading import read_space
from trainables.recipe import Recipe


def chosen(**entries: object) -> dict:
    return default_setting(read_space(entries)).recipe.model_dump(mode="json")


def test_a_default_that_the_entry_holds_is_taken():
    found = chosen(weight={"uniform": [0, 1]}, top_n={"randint": [1, 8]}, quantiser={"choice": ["int8-tanh", "none"]})
    own = Recipe()
    assert (found["weight"], found["top_n"], found["quantiser"]) == (own.weight, own.top_n, own.quantiser)


def test_else_the_middle():
    found = chosen(
        weight={"uniform": [0.6, 0.8]}, learning_rate={"loguniform": [1e-6, 1e-4]}, top_n={"randint": [4, 8]},
        dimensions={"choice": [[64], [32], [16]]}, document_temperature={"grid": [0.1, 0.2]},
    )  # fmt: skip
    assert math.isclose(found["weight"], 0.7) and math.isclose(found["learning_rate"], 1e-5)
    assert (found["top_n"], found["dimensions"], found["document_temperature"]) == (6, [32], 0.1)


def test_fixed_values_stay_and_conditions_are_followed():
    entry = {"then": {"uniform": [0.3, 0.5]}, "else": 0.2}
    found = chosen(steps=7, objective={"choice": ["gold", "distil"]}, teacher_temperature={"when": {"objective": "distil"}, **entry})
    assert (found["steps"], found["objective"]) == (7, "distil") and math.isclose(found["teacher_temperature"], 0.4)
    found = chosen(objective={"choice": ["gold", "distil"]}, teacher_temperature={"when": {"objective": "gold"}, **entry})
    assert found["teacher_temperature"] == 0.2
