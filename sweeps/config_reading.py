"""Between a sweep's YAML and its typed config: paths made absolute, pydantic's errors in the YAML's words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from sweeps.corpora_config import FORMS, SPLITS
from sweeps.space import nearest, short


def messages(error: dict[str, Any], model: type[BaseModel]) -> Iterator[tuple[tuple[str, ...], str]]:
    """pydantic's error about `model` as (key path, message) in the words of the YAML."""
    key = tuple(str(part) for part in error["loc"] if not str(part).startswith("<"))
    if "problems" in error.get("ctx", {}):
        for problem in error["ctx"]["problems"]:
            yield (*key, *problem.where.split(".")), problem.message
    elif error["type"] == "extra_forbidden":
        yield key, f"unknown key{nearest(key[-1], _keys_beside(error['loc'], model))}"
    elif error["type"] == "missing":
        yield key, "this key is missing"
    elif error["type"] == "value_error":
        yield key, error["msg"].removeprefix("Value error, ")  # our own words, which say what was found
    else:
        yield key, f"{error['msg']} (found {short(error['input'])[:200]})"


def _keys_beside(loc: tuple[str | int, ...], model: Any) -> list[str]:
    """The keys that the model at `loc`'s parent knows, from the outermost `model` on."""
    for part in loc[:-1]:
        if part in FORMS:
            model = FORMS[part]
        elif part in getattr(model, "model_fields", {}):
            inner = [model.model_fields[part].annotation]
            while inner and not (isinstance(inner[0], type) and issubclass(inner[0], BaseModel)):
                inner = [*get_args(inner[0]), *inner[1:]]
            model = inner[0] if inner else None
    return [field.alias or name for name, field in model.model_fields.items()]


def resolved(data: dict[str, Any], base: Path) -> dict[str, Any]:
    """The paths of corpora, student and teacher, made absolute; names such as `minilm` stay."""

    def absolute(value: Any, key: str) -> Any:
        if isinstance(value, list):
            return [absolute(item, key) for item in value]
        is_path = isinstance(value, str) and value != "minilm"
        return str((base / Path(value).expanduser()).resolve()) if is_path else value

    sections = {"corpora": ("folder", *SPLITS), "student": ("encoder",), "teacher": ("path",)}
    out = dict(data)
    for section, keys in sections.items():
        if isinstance(data.get(section), dict):
            out[section] = {k: absolute(v, k) if k in keys else v for k, v in data[section].items()}
    return out
