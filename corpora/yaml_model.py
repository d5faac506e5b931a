"""A YAML file's values as a typed model, and pydantic's errors about them in the YAML's own words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator

from corpora.errors import InputError, Problem
from corpora.wording import nearest, short
from corpora.yaml_file import Lines

LARGEST_SEED = 2**32 - 1
"""NumPy, torch and Python all take it."""
Model = TypeVar("Model", bound=BaseModel)


class Frozen(BaseModel):
    """A value that never changes; a key that it does not know, and a number that is not finite, are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_value_as_a_number(cls, value: Any, about: ValidationInfo) -> Any:
        """YAML's `yes` and `on` are truth values; pydantic would take them for 1."""
        if isinstance(value, bool):
            kinds = _kinds(cls.model_fields[about.field_name].annotation)
            if bool not in kinds and kinds & {int, float}:
                raise ValueError(f"a number is needed, found {short(value)}")
        return value


def _kinds(annotation: Any) -> set[Any]:
    """The plain types that an annotation allows: {int, NoneType} of `int | None`."""
    inner = get_args(annotation)
    return set().union(*map(_kinds, inner)) if inner else {annotation}


def validated(
    model: type[Model], data: dict[str, Any], path: Path, lines: Lines, forms: Mapping[str, type[BaseModel]] | None = None,
) -> Model:
    """`data` of the file at `path` as `model`; else an InputError with file, line and key of everything that is wrong.

    `forms`: the tags, in angle brackets, of the model's discriminated unions, and what each stands for.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        found = [(key, message) for one in error.errors() for key, message in _messages(one, model, forms or {})]
    raise InputError(Problem(f"{path}:{lines.of(key)}: {'.'.join(key)}", message) for key, message in found)


def _messages(
    error: Mapping[str, Any], model: type[BaseModel], forms: Mapping[str, type[BaseModel]],
) -> Iterator[tuple[tuple[str, ...], str]]:
    """pydantic's error as (key path, message)."""
    key = tuple(str(part) for part in error["loc"] if not str(part).startswith(("<", "[key]")))
    if "problems" in error.get("ctx", {}):
        for problem in error["ctx"]["problems"]:
            yield (*key, *problem.where.split(".")), problem.message
    elif error["type"] == "extra_forbidden":
        yield key, f"unknown key{nearest(key[-1], _keys_beside(error['loc'], model, forms))}"
    elif error["type"] == "missing":
        yield key, "this key is missing"
    elif error["type"] == "value_error":
        yield key, error["msg"].removeprefix("Value error, ")  # our own words, which say what was found
    else:
        yield key, f"{error['msg']} (found {_found(error['input'])[:200] or 'nothing'})"


def _found(value: Any) -> str:
    """As a file spells it."""
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (Mapping, list, tuple)) else short(value)


def _keys_beside(loc: tuple[str | int, ...], model: Any, forms: Mapping[str, type[BaseModel]]) -> list[str]:
    """The keys that the model at `loc`'s parent knows, from the outermost `model` on."""
    for part in loc[:-1]:
        if part in forms:
            model = forms[part]
        elif part in getattr(model, "model_fields", {}):
            inner = [model.model_fields[part].annotation]
            while inner and not (isinstance(inner[0], type) and issubclass(inner[0], BaseModel)):
                inner = [*get_args(inner[0]), *inner[1:]]
            model = inner[0] if inner else None
    return [field.alias or name for name, field in model.model_fields.items()]
