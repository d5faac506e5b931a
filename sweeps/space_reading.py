"""Reads the `recipe` of a sweep's YAML into a Space, or says everything that is wrong with it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

from corpora.errors import InputError, Problem
from corpora.wording import nearest, short
from sweeps.space import (
    Choice,
    Conditional,
    Integer,
    Real,
    Space,
    candidates,
    default_of,
    leaves,
    same,
)
from trainables.recipe import LoopRecipe, Recipe

KINDS = ["choice", "uniform", "loguniform", "randint", "grid", "when"]


def read_space(recipe: Mapping[str, Any], model: type[LoopRecipe] = Recipe) -> Space:
    """`recipe`: field of `model` -> fixed value or entry. Raises InputError with every problem; `where` = the key."""
    problems: list[Problem] = []
    entries: dict[str, Any] = {}
    for name, given in recipe.items():
        if name in model.model_fields:
            entries[name] = _entry(name, name, given, model, problems)
        else:
            problems.append(Problem(str(name), f"unknown key{nearest(str(name), list(model.model_fields))}"))
    problems += Space({name: entry for name, entry in entries.items() if entry is not None}, model).problems_alone()
    if not problems:
        problems += _condition_problems(entries, model)
    if not problems:
        space = Space(in_drawing_order(entries), model)
        problems += space.problems_together()
    if problems:
        raise InputError(problems)
    return space


def _entry(name: str, where: str, given: Any, model: type[LoopRecipe], problems: list[Problem]) -> Any:
    """The entry, or the fixed value, that `given` spells; appends to `problems` what is wrong."""
    if not isinstance(given, Mapping) or (_holds_mappings(name, model) and not set(given) & set(KINDS)):
        return given
    kinds = [kind for kind in KINDS if kind in given]
    allowed = {"when", "then", "else"} if kinds == ["when"] else set(kinds)
    unknown = sorted(str(key) for key in set(given) - allowed)
    if len(kinds) != 1 or unknown:
        found = ", ".join(map(str, given)) or "nothing"
        hint = nearest(unknown[0], KINDS) if unknown else ""
        problems.append(Problem(where, f"an entry has one of the keys {', '.join(KINDS)}; found {found}{hint}"))
        return None
    kind = kinds[0]
    if kind == "when":
        return _conditional(name, where, given, model, problems)
    if kind in ("choice", "grid"):
        return _choice(f"{where}.{kind}", given[kind], problems)
    return _interval(f"{where}.{kind}", kind, given[kind], problems)


def _choice(where: str, values: Any, problems: list[Problem]) -> Choice | None:
    if not isinstance(values, list) or not values:
        problems.append(Problem(where, f"a list of at least one value is needed, found {values!r}"))
        return None
    repeated = [short(v) for i, v in enumerate(values) if any(same(v, earlier) for earlier in values[:i])]
    if repeated:
        problems.append(Problem(where, f"values must differ, found twice: {', '.join(repeated)}"))
    return Choice(tuple(values))


def _interval(where: str, kind: str, bounds: Any, problems: list[Problem]) -> Real | Integer | None:
    number = int if kind == "randint" else (int, float)
    right = (
        isinstance(bounds, list)
        and len(bounds) == 2
        and all(isinstance(b, number) and not isinstance(b, bool) and math.isfinite(b) for b in bounds)
        and bounds[0] < bounds[1]
        and (kind != "loguniform" or bounds[0] > 0)
    )
    if not right:
        what = {"randint": "whole numbers", "uniform": "numbers", "loguniform": "numbers over 0"}[kind]
        problems.append(Problem(where, f"[low, high] with two {what}, low under high, is needed, found {bounds!r}"))
        return None
    if kind == "randint":
        return Integer(*bounds)
    return Real(float(bounds[0]), float(bounds[1]), log=kind == "loguniform")


def _holds_mappings(name: str, model: type[LoopRecipe]) -> bool:
    """Whether a fixed value of the field is itself a mapping, as of `chunking_mix`."""
    return isinstance(default_of(name, model), dict)


def _conditional(
    name: str, where: str, given: Mapping[str, Any], model: type[LoopRecipe], problems: list[Problem]
) -> Conditional | None:
    when = given["when"]
    if not isinstance(when, Mapping) or not when or "then" not in given:
        problems.append(Problem(where, "a condition needs `when: {key: value or [values]}` and `then`"))
        return None
    for key in [key for key in when if key not in model.model_fields]:
        problems.append(Problem(f"{where}.when.{key}", f"unknown key{nearest(str(key), list(model.model_fields))}"))
    wanted = {key: tuple(value) if isinstance(value, list) else (value,) for key, value in when.items()}
    then = _entry(name, f"{where}.then", given["then"], model, problems)
    otherwise = given.get("else", default_of(name, model))
    if isinstance(otherwise, Mapping) and set(otherwise) & set(KINDS):
        problems.append(Problem(f"{where}.else", "must be a fixed value: give the searched case under `then`"))
    return Conditional(wanted, then, otherwise)


def _condition_problems(entries: dict[str, Any], model: type[LoopRecipe]) -> list[Problem]:
    try:
        in_drawing_order(entries)
    except CycleError as error:
        cycle = " -> ".join(error.args[1])
        return [Problem(error.args[1][0], f"the conditions go round in a circle: {cycle}")]
    problems = []
    for name, entry in entries.items():
        for key, wanted in conditions(entry).items():
            parent = entries.get(key, default_of(key, model))
            finite = list(candidates(parent))
            real = any(isinstance(leaf, Real) for leaf in leaves(parent))
            if not real and not any(same(value, one) for value in wanted for one in finite):
                never, ever = " or ".join(map(short, wanted)), ", ".join(map(short, finite))
                problems.append(Problem(f"{name}.when.{key}", f"{key} is never {never}: it is {ever}"))
    return problems


def in_drawing_order(entries: dict[str, Any]) -> dict[str, Any]:
    """The YAML's order, moved only where a condition needs another field first. Raises CycleError."""
    needs = {name: list(conditions(entry)) for name, entry in entries.items()}
    TopologicalSorter(needs).prepare()  # raises CycleError
    ordered: dict[str, Any] = {}

    def place(name: str) -> None:
        if name in entries and name not in ordered:
            for needed in needs[name]:
                place(needed)
            ordered[name] = entries[name]

    for name in entries:
        place(name)
    return ordered


def conditions(entry: Any) -> dict[str, tuple[Any, ...]]:
    """The fields that an entry's conditions name, with the values they ask for."""
    if not isinstance(entry, Conditional):
        return {}
    return {**conditions(entry.then), **entry.when}
