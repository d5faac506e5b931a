"""Between a sweep's YAML and its typed config: paths made absolute."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sweeps.corpora_config import SPLITS
from sweeps.search_config import MLFLOW


def resolved(data: dict[str, Any], base: Path) -> dict[str, Any]:
    """The paths of corpora, student, teacher, trainer and earlier sweeps, made absolute; names such as `minilm` and `mlflow:RUN_ID` stay."""

    def absolute(value: Any, key: str) -> Any:
        if isinstance(value, list):
            return [absolute(item, key) for item in value]
        if isinstance(value, dict):  # {folder, weight}
            return {k: absolute(v, k) if k == "folder" else v for k, v in value.items()}
        is_path = isinstance(value, str) and value not in ("minilm", "") and not value.startswith(MLFLOW)
        return os.path.realpath(base / os.path.expanduser(value)) if is_path else value

    sections = {"corpora": ("folder", *SPLITS), "student": ("encoder",), "teacher": ("path",), "search": ("warm_start",)}
    out = dict(data)
    file, _, name = str(data.get("trainer") or "").rpartition(":")
    if file.endswith(".py"):
        out["trainer"] = f"{absolute(file, 'trainer')}:{name}"
    for section, keys in sections.items():
        if isinstance(data.get(section), dict):
            out[section] = {k: absolute(v, k) if k in keys else v for k, v in data[section].items()}
    return out
