"""Spaces: what is refused, what is drawn, and that every recipe drawn is one that Recipe accepts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.errors import InputError
from corpora.wording import short
from sweeps.space import Choice, candidates, label
from sweeps.space_reading import read_space

RICH = {
    "weight": {"uniform": [0, 1]},
    "learning_rate": {"loguniform": [1e-5, 1e-3]},
    "top_n": {"randint": [1, 4]},
    "teacher_temperature": {
        "when": {"objective": "distil", "top_n": [3, 4]},
        "then": {"uniform": [0.1, 0.2]},
        "else": 0.5,
    },
    "objective": {"choice": ["distil", "gold"]},
    "chunking_mix": {"choice": [{"sentence": 1}, {"sentence": 3, "tokens:64": 1}]},
    "dimensions": {"grid": [[384], [384, 128]]},
    "steps": 40,
}


@pytest.mark.parametrize(
    ("recipe", "where", "message"),
    [
        ({"wieght": 0.5}, "wieght", "did you mean 'weight'"),
        ({"weight": {"choise": [1]}}, "weight", "did you mean 'choice'"),
        ({"weight": {"uniform": [0, 1], "grid": [1]}}, "weight", "one of the keys"),
        ({"weight": {"uniform": [1, 0]}}, "weight.uniform", "low under high"),
        ({"weight": {"uniform": [0, float("inf")]}}, "weight.uniform", "two numbers"),
        ({"weight": {"uniform": [True, 2]}}, "weight.uniform", "two numbers"),
        ({"learning_rate": {"loguniform": [0, 1]}}, "learning_rate.loguniform", "over 0"),
        ({"top_n": {"randint": [1, 2.5]}}, "top_n.randint", "whole numbers"),
        ({"top_n": {"uniform": [1, 3]}}, "top_n", "which the interval draws: `randint`"),
        ({"weight": {"choice": []}}, "weight.choice", "at least one"),
        ({"weight": {"grid": [0.5, 0.1, 0.5]}}, "weight.grid", "found twice: 0.5"),
        ({"weight": {"uniform": [0, 1.5]}}, "weight", "less than or equal to 1 (found 1.5)"),
        ({"weight": 1.5}, "weight", "less than or equal to 1 (found 1.5)"),
        ({"steps": {"uniform": [10, 20]}}, "steps", "a whole number is needed (found 13.8, which the interval draws: `randint`"),
        ({"chunking_mix": {"tokens:x": 1}}, "chunking_mix", "tokens:x"),
        ({"chunking_mix": {"choice": [{"sentence": 0}]}}, "chunking_mix", "positive shares"),
        ({"weight": {"when": {"objectif": "gold"}, "then": 1}}, "weight.when.objectif", "did you mean 'objective'"),
        ({"weight": {"when": {"objective": "gold"}}}, "weight", "`then`"),
        ({"weight": {"when": {"objective": "gold"}, "then": 1, "else": {"grid": [1]}}}, "weight.else", "fixed value"),
        ({"weight": {"when": {"objective": "gold"}, "then": 1}}, "weight.when.objective", "never gold: it is distil"),
        (
            {"weight": {"when": {"top_n": 1}, "then": 1}, "top_n": {"when": {"weight": 1}, "then": 2}},
            "weight",
            "circle",
        ),
        (
            {"dimensions": {"choice": [[384], [384, 64]]}, "dimension_weights": [1.0]},
            "dimensions",
            "1 dimension_weights for 2",
        ),
    ],
)
def test_a_bad_space_is_refused_with_its_key(recipe, where, message):
    with pytest.raises(InputError) as error:
        read_space(recipe)
    assert [p for p in error.value.problems if p.where == where and message in p.message], error.value


def test_of_an_interval_only_what_the_yaml_holds_is_told():
    """Not also a number between the bounds that was tried and stands nowhere."""
    with pytest.raises(InputError) as error:
        read_space({"weight": {"uniform": [0.1, 5]}})
    assert [problem.message for problem in error.value.problems] == ["Input should be less than or equal to 1 (found 5)"]


def test_everything_wrong_comes_at_once():
    with pytest.raises(InputError) as error:
        read_space({"wieght": 0.5, "top_n": {"randint": [3, 1]}, "steps": -1, "seed": {"what": 1}, "weight": 2})
    assert [problem.where for problem in error.value.problems] == ["wieght", "top_n.randint", "seed", "steps", "weight"]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32))
def test_what_is_drawn_obeys_bounds_and_conditions(seed):
    suggestion = read_space(RICH).sample(np.random.default_rng(seed))
    recipe, varied = suggestion.recipe, suggestion.varied
    assert 0 <= recipe.weight <= 1 and 1e-5 <= recipe.learning_rate <= 1e-3 and 1 <= recipe.top_n <= 4
    assert recipe.steps == 40 and "steps" not in varied
    on = recipe.objective == "distil" and recipe.top_n in (3, 4)
    assert ("teacher_temperature" in varied) == on
    assert 0.1 <= recipe.teacher_temperature <= 0.2 if on else recipe.teacher_temperature == 0.5


def test_both_ends_of_randint_are_drawn():
    space = read_space({"top_n": {"randint": [2, 4]}})
    assert {space.sample(np.random.default_rng(seed)).recipe.top_n for seed in range(60)} == {2, 3, 4}


def test_without_else_the_recipe_keeps_its_default():
    space = read_space(
        {"objective": "gold", "weight": {"when": {"objective": ["gold", "distil"]}, "then": {"grid": [1.0]}}}
    )
    assert space.sample(np.random.default_rng(0)).varied == {"weight": 1.0}
    off = {
        "objective": {"grid": ["gold", "distil"]},
        "weight": {"when": {"objective": "gold"}, "then": {"grid": [1.0]}},
    }
    assert [point.recipe.weight for point in read_space(off).grid()] == [1.0, 0.5]


def test_conditions_nest():
    inner = {"when": {"top_n": 2}, "then": {"grid": [0.1, 0.2]}, "else": 0.3}
    space = read_space(
        {
            "objective": {"grid": ["distil", "gold"]},
            "top_n": {"grid": [1, 2]},
            "weight": {"when": {"objective": "distil"}, "then": inner, "else": 0.9},
        }
    )
    got = [(p.recipe.objective, p.recipe.top_n, p.recipe.weight) for p in space.grid()]
    assert got == [
        ("distil", 1, 0.3), ("distil", 2, 0.1), ("distil", 2, 0.2), ("gold", 1, 0.9), ("gold", 2, 0.9),
    ]  # fmt: skip
    assert space.size == 5


def test_the_grid_is_the_product():
    space = read_space({"weight": {"grid": [0, 1]}, "top_n": {"randint": [1, 3]}, "steps": {"choice": [10, 20]}})
    got = [(p.recipe.weight, p.recipe.top_n, p.recipe.steps) for p in space.grid()]
    assert got == list(itertools.product([0, 1], [1, 2, 3], [10, 20]))
    assert space.size == 12 and read_space({}).size == 1
    assert read_space(RICH).size is None


def test_recall_finds_the_entries_behind_a_suggestion():
    space = read_space(RICH)
    suggestion = space.sample(np.random.default_rng(4))
    found = space.recall(suggestion.varied)
    assert {name: value for name, (_, value) in found.items()} == suggestion.varied
    assert isinstance(found["objective"][0], Choice)


def test_labels_say_what_varies():
    varied = {
        "weight": 0.4199, "teacher_temperature": 0.08, "top_n": 3, "chunking_mix": {"sentence": 1, "tokens:64": 1},
        "dimensions": [384, 128], "learning_rate": 0.00012345,
    }  # fmt: skip
    assert label(varied) == "w=0.42 t=0.08 n=3 mix=sentence+tokens:64 dims=384/128 lr=0.000123"
    assert short({"sentence": 0.75, "whole": 0.25}) == "0.75*sentence+0.25*whole"
    assert short(True) == "true" and short(None) == "none"


def test_candidates_of_fixed_and_searched_fields():
    entries = read_space(RICH).entries
    assert list(candidates(entries["top_n"])) == [1, 2, 3, 4]
    assert list(candidates({"sentence": 1.0})) == [{"sentence": 1.0}]
    assert 0.5 in candidates(entries["teacher_temperature"])
    assert len(read_space(RICH).describe()) == 7


def test_a_recipe_from_elsewhere_is_located_where_it_is_a_point_of_the_space():
    space = read_space(RICH)
    rng = np.random.default_rng(3)
    for _ in range(40):
        point = space.sample(rng)
        params = point.recipe.model_dump(mode="json")
        assert space.locate(params | {"seed": 7, "threads": 3}) == point.varied
        for elsewhere in ({"weight": 1.5}, {"steps": 60}, {"chunking_mix": {"whole": 1.0}}, {"top_n": 5}, {"precision": "bf16"}):
            assert space.locate(params | elsewhere) is None
    assert space.locate({}) is None
