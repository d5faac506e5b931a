"""The published schema: current, takes what `load` takes, and points at what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from corpora.errors import InputError
from corpora.yaml_file import read_yaml
from sweeps.config import SweepConfig
from sweeps.schema import schema, schema_text
from trainables.recipe import Recipe

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted([*(ROOT / "examples").glob("*.yaml"), *(ROOT / "stockpot" / "examples").glob("*.yaml")])
VALIDATOR = Draft202012Validator(schema())


def refusals(content: dict) -> list[str]:
    return [".".join(map(str, error.absolute_path)) for error in VALIDATOR.iter_errors(content)]


def tiny(**changes: object) -> dict:
    return {"name": "s", "corpora": {"generate": "quick"}, "search": {"sampler": "random", "trials": 3}} | changes


def test_the_published_copy_is_current():
    published = (ROOT / "docs" / "sweep.schema.json").read_text()
    assert json.loads(published) == schema(), "stockpot init --schema > docs/sweep.schema.json"
    assert published == schema_text()


def test_it_is_a_schema_and_every_reference_leads_somewhere():
    Draft202012Validator.check_schema(schema())
    references = re.findall(r'"\$ref": "#/\$defs/([^"]+)"', schema_text())
    assert len(references) > 50 and set(references) <= set(schema()["$defs"])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_is_valid(path):
    content = read_yaml(path)[0]
    if {"corpora", "search"} <= set(content):  # a sweep, no suite of tasks
        assert refusals(content) == []


def test_every_field_of_the_recipe_may_be_fixed_or_searched():
    plain = Recipe().model_dump(mode="json")
    assert refusals(tiny(recipe=plain)) == []
    assert refusals(tiny(recipe={name: {"choice": [value]} for name, value in plain.items()})) == []
    assert refusals(tiny(recipe={name: {"grid": [value]} for name, value in plain.items()})) == []
    when = {name: {"when": {"objective": ["distil"]}, "then": {"choice": [value]}, "else": value} for name, value in plain.items()}
    assert refusals(tiny(recipe=when)) == []


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"recipe": {"wieght": 0.5}}, "recipe"),
        ({"recipe": {"weight": 2}}, "recipe.weight"),
        ({"recipe": {"weight": "half"}}, "recipe.weight"),
        ({"recipe": {"weight": {"uniform": [0]}}}, "recipe.weight"),
        ({"recipe": {"weight": {"uniform": [0, 1], "choice": [1]}}}, "recipe.weight"),
        ({"recipe": {"weight": {"chioce": [0, 1]}}}, "recipe.weight"),
        ({"recipe": {"quantiser": {"choice": ["int4"]}}}, "recipe.quantiser"),
        ({"recipe": {"steps": {"loguniform": [1, 10]}}}, "recipe.steps"),
        ({"recipe": {"chunking_mix": {"sentences": 1}}}, "recipe.chunking_mix"),
        ({"recipe": {"chunking_mix": {"choice": [{"tokens:0": 1}]}}}, "recipe.chunking_mix"),
        ({"recipe": {"weight": {"when": {"objective": "gould"}, "then": 0.5}}}, "recipe.weight"),
        ({"recipe": {"weight": {"when": {"objective": "gold"}}}}, "recipe.weight"),
        ({"search": {"sampler": "rnadom", "trials": 3}}, "search.sampler"),
        ({"evaluation": {"suites": ["q3c"]}}, "evaluation.suites.0"),
        ({"corpora": {"generate": "large"}}, "corpora"),
        ({"corpora": {"train": "t"}}, "corpora"),
        ({"serach": {}}, ""),
        ({"name": ""}, "name"),
    ],
)
def test_what_load_refuses_it_refuses_at_the_same_place(changes, where):
    assert where in refusals(tiny(**changes))
    with pytest.raises(ValueError):
        SweepConfig.model_validate(tiny(**changes))


@pytest.mark.parametrize(
    "corpora",
    [
        "{train: t, dev: d}",
        "{train: [t], dev: [d, e], confirm: c}",
        "{folder: f, shares: {train: 0.8, dev: 0.2}}",
        "{train: t, folder: f, shares: {dev: 0.5, confirm: 0.5}}",
    ],
)
def test_folders_may_stand_alone_or_in_lists(corpora):
    content = tiny(corpora=yaml.safe_load(corpora))
    assert refusals(content) == []
    try:
        SweepConfig.model_validate(content)
    except InputError as error:
        pytest.fail(str(error))
