"""What a sweep may vary: each field of `Recipe`, fixed or drawn from an entry.

Entries of the YAML (DESIGN section 7):

    weight: 0.5                                   # fixed
    weight: {uniform: [0, 1]}                     # a real number, both bounds included
    learning_rate: {loguniform: [1.0e-5, 1.0e-3]} # the same, uniform in its logarithm
    top_n: {randint: [1, 8]}                      # a whole number, both bounds included
    dimensions: {choice: [[384], [384, 128]]}     # one of these, in no order
    weight: {grid: [0, 0.5, 1]}                   # the same; under `sampler: grid` every one is tried
    teacher_temperature: {when: {objective: distil}, then: {loguniform: [0.02, 1]}, else: 0.1}

`when` names other fields of the recipe and the value, or the values, that they must have;
without `else` the recipe's own default holds. This module knows no search library: whoever
draws passes a function `choose(name, entry) -> value`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from pydantic import ValidationError

from corpora.errors import Problem
from corpora.wording import short
from corpora.yaml_model import spelled, wording
from sweeps.labels import label
from trainables.recipe import LoopRecipe, Recipe

NOT_LEARNT = {"seed", "threads", "documents_per_pass", "gradient_checkpointing"}
"""Fields in which two recipes may differ and still be one point of a space: chance, and how the same is computed."""
CHECKED_COMBINATIONS = 512  # recipes tried together before anything starts
_INSIDE = 0.3819660113  # where between two bounds a third value is tried: no round number


@dataclass(frozen=True)
class Choice:
    """One of `values`. Drawn by position, so that values may be lists or mappings."""

    values: tuple[Any, ...]

    def draw(self, rng: np.random.Generator) -> Any:
        return self.values[int(rng.integers(len(self.values)))]

    def extremes(self) -> tuple[Any, ...]:
        return self.values

    def own(self, value: Any) -> Any:
        """The value of this entry that equals `value`; LookupError without."""
        return self.values[next((i for i, one in enumerate(self.values) if same(one, value)), len(self.values))]

    def __str__(self) -> str:
        return "one of " + ", ".join(short(value) for value in self.values)


@dataclass(frozen=True)
class Real:
    """A real number in [low, high]; with `log`, uniform in its logarithm."""

    low: float
    high: float
    log: bool = False

    def draw(self, rng: np.random.Generator) -> float:
        if self.log:
            return float(np.clip(math.exp(rng.uniform(math.log(self.low), math.log(self.high))), self.low, self.high))
        return float(rng.uniform(self.low, self.high))

    def extremes(self) -> tuple[float, ...]:
        return self.low, self.high, self.low + _INSIDE * (self.high - self.low)

    def own(self, value: Any) -> float:
        return _inside(self, value)

    def __str__(self) -> str:
        return f"{short(self.low)} to {short(self.high)}{', logarithmic' if self.log else ''}"


@dataclass(frozen=True)
class Integer:
    """A whole number from low to high, both included."""

    low: int
    high: int

    @property
    def values(self) -> tuple[int, ...]:
        return tuple(range(self.low, self.high + 1))

    def draw(self, rng: np.random.Generator) -> int:
        return int(rng.integers(self.low, self.high, endpoint=True))

    def extremes(self) -> tuple[int, ...]:
        return self.low, self.high

    def own(self, value: Any) -> int:
        return _inside(self, value)

    def __str__(self) -> str:
        return f"whole numbers {self.low} to {self.high}"


Entry = Choice | Real | Integer
Choose = Callable[[str, Entry], Any]


@dataclass(frozen=True)
class Conditional:
    """`then` while every field of `when` has one of its values, else `otherwise`."""

    when: dict[str, tuple[Any, ...]]
    then: Any  # an entry, a fixed value or another Conditional
    otherwise: Any


@dataclass(frozen=True)
class Suggestion:
    recipe: LoopRecipe
    varied: dict[str, Any] = field(default_factory=dict)  # only what was searched, as plain JSON values

    @property
    def label(self) -> str:
        return label(self.varied)


@dataclass(frozen=True)
class Space:
    """The fields of the recipe in the order in which they are drawn: conditions first. `model`: the trainer's recipe."""

    entries: dict[str, Any]
    model: type[LoopRecipe] = Recipe

    @property
    def searched(self) -> dict[str, Any]:
        """The entries that are searched, under their conditions."""
        return {name: entry for name, entry in self.entries.items() if _is_searched(entry)}

    def suggest(self, choose: Choose) -> Suggestion:
        """Draws a recipe: `choose` is asked once for each searched field whose condition holds."""
        values, varied = self._values(choose)
        return Suggestion(self.model(**values), varied)

    def sample(self, rng: np.random.Generator) -> Suggestion:
        return self.suggest(lambda name, entry: entry.draw(rng))

    def recall(self, varied: Mapping[str, Any]) -> dict[str, tuple[Entry, Any]]:
        """The entry and the value behind each searched field of an earlier suggestion."""
        seen: dict[str, tuple[Entry, Any]] = {}

        def choose(name: str, entry: Entry) -> Any:
            seen[name] = (entry, varied[name])
            return varied[name]

        self._values(choose)
        return seen

    def locate(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """The searched fields of a whole recipe from elsewhere, as a suggestion of this space has them; None where it
        lies outside: a searched field has a value that is never drawn, or a fixed one another value."""
        try:
            values, varied = self._values(lambda name, entry: entry.own(params[name]))
            recipe = self.model(**values).model_dump(mode="json")
        except LookupError:
            return None
        differ = {name for name, value in recipe.items() if not (name in params and same(value, params[name]))}
        return varied if differ <= {*varied, *NOT_LEARNT} else None

    def combinations(
        self, values_of: Callable[[Entry], tuple[Any, ...]]
    ) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """All fields and the varied ones, for every combination of `values_of` each entry, the last field fastest."""
        path: list[list[int]] = []  # [position, count] of each choice on the way down
        while True:
            depth = 0

            def choose(name: str, entry: Entry) -> Any:
                nonlocal depth
                values = values_of(entry)
                if depth == len(path):
                    path.append([0, len(values)])
                depth += 1
                return values[path[depth - 1][0]]

            yield self._values(choose)
            while path and path[-1][0] + 1 == path[-1][1]:
                path.pop()
            if not path:
                return
            path[-1][0] += 1

    def grid(self) -> Iterator[Suggestion]:
        """Every point, in the YAML's order. Only for spaces without real intervals."""
        for fields, varied in self.combinations(lambda entry: entry.values):
            yield Suggestion(self.model(**fields), varied)

    @cached_property
    def size(self) -> int | None:
        """Number of points; None where an interval of reals is searched."""
        searched = self.searched.values()
        if any(isinstance(leaf, Real) for entry in searched for leaf in leaves(entry)):
            return None
        if any(isinstance(entry, Conditional) for entry in searched):
            return sum(1 for _ in self.combinations(lambda entry: entry.values))
        return math.prod(len(entry.values) for entry in searched)

    def describe(self) -> list[str]:
        return [f"{name}: {_describe(entry)}" for name, entry in self.searched.items()]

    def problems_alone(self) -> list[Problem]:
        """What the recipe's own rules refuse of each fixed value and each extreme by itself."""
        found: dict[tuple[str, str], None] = {}
        for name, entry in self.entries.items():
            for leaf in leaves(entry):
                for value in leaf.extremes() if isinstance(leaf, Entry) else (leaf,):
                    refused = [message for where, message in _refusals({name: value}, self.model) if where == name]
                    for message in refused:
                        drawn = isinstance(leaf, Real) and "whole number" in message
                        hint = ", which the interval draws: `randint` draws whole numbers" if drawn else ""
                        found[name, message if "found" in message else f"{message} (found {spelled(value)}{hint})"] = None
                    if refused and isinstance(leaf, Real):
                        break  # a bound says enough of an interval
        return [Problem(where, message) for where, message in found]

    def problems_together(self) -> list[Problem]:
        """What they refuse of whole recipes: extremes of all fields combined."""
        points = islice(self.combinations(lambda entry: entry.extremes()), CHECKED_COMBINATIONS)
        found = dict.fromkeys(refusal for fields, _ in points for refusal in _refusals(fields, self.model))
        rng = np.random.default_rng(0)  # large spaces: a sample of the rest
        for _ in range(CHECKED_COMBINATIONS // 4):
            fields, _ = self._values(lambda name, entry: entry.extremes()[int(rng.integers(len(entry.extremes())))])
            found |= dict.fromkeys(_refusals(fields, self.model))
        return [Problem(where or ", ".join(self.searched), message) for where, message in found]

    def _values(self, choose: Choose) -> tuple[dict[str, Any], dict[str, Any]]:
        values: dict[str, Any] = {}
        varied: dict[str, Any] = {}
        for name, entry in self.entries.items():
            while isinstance(entry, Conditional):
                entry = entry.then if all(self._holds(values, *wanted) for wanted in entry.when.items()) else entry.otherwise
            if isinstance(entry, Entry):
                varied[name] = entry = choose(name, entry)
            values[name] = entry
        return values, varied

    def _holds(self, values: Mapping[str, Any], name: str, wanted: tuple[Any, ...]) -> bool:
        value = values[name] if name in values else default_of(name, self.model)
        return any(same(value, one) for one in wanted)


def leaves(entry: Any) -> Iterator[Any]:
    """Everything that an entry can come down to: searched entries and fixed values."""
    if isinstance(entry, Conditional):
        yield from leaves(entry.then)
        yield entry.otherwise
    else:
        yield entry


def candidates(entry: Any) -> Iterator[Any]:
    """Every value that an entry can come to; of an interval of reals, its extremes."""
    for leaf in leaves(entry):
        if isinstance(leaf, Entry):
            yield from leaf.extremes() if isinstance(leaf, Real) else leaf.values
        else:
            yield leaf


def default_of(name: str, model: type[LoopRecipe] = Recipe) -> Any:
    """The recipe's own value of a field, as plain JSON values."""
    return model().model_dump(mode="json")[name]


def same(left: Any, right: Any) -> bool:
    """Equality of YAML values: True is not 1."""
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def _inside(entry: Real | Integer, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not entry.low <= value <= entry.high:
        raise LookupError(value)
    return value


def _is_searched(entry: Any) -> bool:
    return any(isinstance(leaf, Entry) for leaf in leaves(entry))


def _describe(entry: Any) -> str:
    if not isinstance(entry, Conditional):
        return str(entry) if isinstance(entry, Entry) else short(entry)
    when = " and ".join(f"{name} is {' or '.join(map(short, wanted))}" for name, wanted in entry.when.items())
    return f"{_describe(entry.then)} when {when}, else {short(entry.otherwise)}"


def _refusals(fields: dict[str, Any], model: type[LoopRecipe]) -> Iterator[tuple[str, str]]:
    try:
        model(**fields)
    except ValidationError as error:
        for one in error.errors():
            yield ".".join(map(str, one["loc"][:1])), wording(one)
