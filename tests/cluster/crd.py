"""Kubernetes' own rules for a custom resource: its definition, with every field that it does not name refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import yaml


def strict_schema(definition: Path, version: str = "v1") -> dict[str, Any]:
    """The JSON schema of a CustomResourceDefinition's version."""
    content = yaml.load(definition.read_text(), yaml.CSafeLoader)
    [schema] = [each["schema"]["openAPIV3Schema"] for each in content["spec"]["versions"] if each["name"] == version]
    schema["properties"]["metadata"] = {"type": "object"}  # Kubernetes checks it itself
    return _closed(schema)


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if isinstance(closed.get("properties"), dict) and not closed.get("x-kubernetes-preserve-unknown-fields"):
        closed.setdefault("additionalProperties", False)
    return closed


def problems(schema: dict[str, Any], manifest: dict[str, Any]) -> list[str]:
    found = jsonschema.Draft7Validator(schema).iter_errors(manifest)
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in found]
