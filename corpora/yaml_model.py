"""A YAML file's values as a typed model, and pydantic's errors about them in the YAML's own words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator

from corpora.errors import InputError, Problem
from corpora.wording import nearest, short
from corpora.yaml_file import Lines

LARGEST_SEED = 2**32 - 1
"""NumPy, torch and Python all take it."""
Model = TypeVar("Model", bound=BaseModel)
WORDS = {
    **dict.fromkeys(("tuple_type", "list_type"), "a list is needed"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "a mapping of keys is needed"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number is needed"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number is needed"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false is needed"),
    "string_type": "text is needed",
}
"""What pydantic says in Python's words, by its kind of error."""


class Frozen(BaseModel):
    """A value that never changes; a key that it does not know, and a number that is not finite, are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _as_it_stands(cls, value: Any, about: ValidationInfo) -> Any:
        """pydantic would take `true` for 1, "6" for 6 and "yes" for true, and whoever reads the value as it stands would not."""
        kinds = _kinds(cls.model_fields[about.field_name].annotation)
        for one in _inside(value):
            if isinstance(one, bool) and bool not in kinds and kinds & {int, float}:
                raise ValueError(f"a number is needed, found {short(one)}")
            if isinstance(one, str) and str not in kinds and kinds & {int, float} and _spells_a_number(one):
                raise ValueError(f"a number is needed, found the text {json.dumps(one)}: write it without quotes")
            if isinstance(one, (str, int)) and not isinstance(one, bool) and kinds <= {bool, type(None)}:
                raise ValueError(f"true or false is needed, found {json.dumps(one)}")
        return value


def _inside(value: Any) -> Iterator[Any]:
    """The values of a list or a mapping, however deep; of anything else, itself."""
    if isinstance(value, (Mapping, list, tuple)):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _inside(one)
    else:
        yield value


def _spells_a_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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
        errors = error.errors()
        found = [(key, message) for one in errors if not _follows(one, errors) for key, message in _messages(one, model, forms or {})]
    raise InputError(Problem(": ".join([f"{path}:{lines.of(key)}", *filter(None, ['.'.join(key)])]), message) for key, message in found)


def wording(error: Mapping[str, Any]) -> str:
    """What pydantic's error says, in a YAML's words instead of Python's."""
    return WORDS.get(error["type"]) or error["msg"].removeprefix("Value error, ")


def _follows(error: Mapping[str, Any], errors: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a list only counts as too short because values in it were refused."""
    depth = len(error["loc"])
    return error["type"] == "too_short" and any(len(one["loc"]) > depth and one["loc"][:depth] == error["loc"] for one in errors)


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
        yield key, wording(error)  # our own words, which say what was found
    else:
        quote = ": put it in quotes" if error["type"] == "string_type" and isinstance(error["input"], (int, float)) else ""
        yield key, f"{wording(error)} (found {spelled(error['input'])[:200] or 'nothing'}){quote}"


def spelled(value: Any) -> str:
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
