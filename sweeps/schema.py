"""The JSON schema of a sweep's YAML, for editors: made from the models that read it, so it cannot lag behind them.

What pydantic cannot know is put in: that every field of the recipe may be an entry of sweeps/space.py, and
where a single value may stand for a list of one.
"""

from __future__ import annotations

import json
from typing import Any

from sweeps.config import SweepConfig
from trainables.recipe import Recipe

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_CHUNKING = r"^(sentence|paragraph|given|whole|tokens:[1-9][0-9]{0,8}(/0\.[0-9]*[1-9])?)$"


def schema() -> dict[str, Any]:
    found = SweepConfig.model_json_schema(by_alias=True)
    fields = Recipe.model_json_schema()
    definitions = {**found.pop("$defs", {}), **fields.get("$defs", {})}
    for name in ("CutCorpora", "SplitCorpora"):
        properties = definitions[name]["properties"]
        properties |= {key: _or_single(given) for key, given in properties.items() if given.get("type") == "array"}
    values = dict(fields["properties"])
    values["chunking_mix"] = values["chunking_mix"] | {"propertyNames": {"pattern": _CHUNKING}}
    when = {name: {"anyOf": [_bare(value), {"type": "array", "items": _bare(value)}]} for name, value in values.items()}
    definitions["Condition"] = {
        "type": "object", "description": "other fields of the recipe, and the value or values that they must have",
        "minProperties": 1, "properties": when,
    }  # fmt: skip
    definitions |= {f"recipe.{name}": _entry(name, value) for name, value in values.items()}
    recipe = {"type": "object", "description": "Each field fixed, or searched: {choice: [...]}, {uniform: [low, high]}, "
              "{loguniform: [low, high]}, {randint: [low, high]}, {grid: [...]}, {when: {...}, then: ..., else: ...}",
              "properties": {name: {"$ref": f"#/$defs/recipe.{name}"} for name in values}}  # fmt: skip
    return _with_recipe(found, recipe, definitions)


def schema_text() -> str:
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def _with_recipe(found: dict[str, Any], recipe: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """A trainer of the user's own has fields of its own, which this schema cannot know."""
    found["properties"]["recipe"] = recipe
    closed = {"properties": {"recipe": {"properties": dict.fromkeys(recipe["properties"], True), "additionalProperties": False}}}
    if "trainer" in found["properties"]:
        closed = {"if": {"not": {"required": ["trainer"]}}, "then": closed}
    return {"$schema": DRAFT, **found, "title": "A sweep of stockpot", "allOf": [closed], "$defs": definitions}


def _entry(name: str, value: dict[str, Any]) -> dict[str, Any]:
    """A field of the recipe: its value, or what a search draws it from."""
    bare, kinds = _bare(value), _types(value)
    several = {"type": "array", "items": bare, "minItems": 1}
    forms = [bare, _form("choice", several, "one of these, in no order"),
             _form("grid", several, "one of these; under `sampler: grid` every one is tried")]  # fmt: skip
    if "number" in kinds:
        forms += [_form("uniform", _bounds("number"), "a number between two, both included"),
                  _form("loguniform", _bounds("number"), "the same, uniform in its logarithm")]  # fmt: skip
    if kinds & {"number", "integer"}:
        forms.append(_form("randint", _bounds("integer"), "a whole number between two, both included"))
    forms.append({
        "type": "object", "description": "`then` while every field of `when` has one of its values, else `else`",
        "properties": {"when": {"$ref": "#/$defs/Condition"}, "then": {"$ref": f"#/$defs/recipe.{name}"}, "else": bare},
        "required": ["when", "then"], "additionalProperties": False,
    })  # fmt: skip
    return {key: value[key] for key in ("description", "default") if key in value} | {"anyOf": forms}


def _form(key: str, value: dict[str, Any], description: str) -> dict[str, Any]:
    return {"type": "object", "description": description, "properties": {key: value}, "required": [key], "additionalProperties": False}


def _bounds(kind: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": kind}, "minItems": 2, "maxItems": 2}


def _bare(value: dict[str, Any]) -> dict[str, Any]:
    """What a value must be, without what describes it."""
    return {key: inner for key, inner in value.items() if key not in ("title", "description", "default")}


def _types(value: dict[str, Any]) -> set[str]:
    return {str(one.get("type")) for one in (value, *value.get("anyOf", ()))}


def _or_single(value: dict[str, Any]) -> dict[str, Any]:
    """A list whose items may be folders by name alone, or a single such item."""
    item = value["items"] if value["items"].get("type") == "string" else {"anyOf": [{"type": "string"}, value["items"]]}
    described = {key: value[key] for key in ("title", "description", "default") if key in value}
    return described | {"anyOf": [item, _bare(value) | {"items": item}]}
