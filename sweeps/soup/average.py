"""The soup itself: a weighted mean of checkpoints, tensor by tensor (DESIGN section 8).

Sums run in float64 over the ingredients in the order of their weights' SHA-256 and are
rounded to float32 once, so that the bytes do not depend on the order of discovery. One
tensor of one ingredient is in memory at a time, beside the soup. Checkpoint files hold
each tensor under one name, so tied weights are averaged once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError, Problem
from sweeps.soup.admit import layout
from trainables import checkpoints
from trainables.checkpoints import WEIGHTS

if TYPE_CHECKING:
    from torch import Tensor

MANIFEST = "soup.json"  # beside the weights: what went in, and why


@dataclass(frozen=True)
class Ingredient:
    folder: Path
    weight: float  # share of the soup; the shares sum to 1
    sha256: str  # of its weights


def ingredients(folders: Sequence[Path], weights: Sequence[float] | None = None) -> tuple[Ingredient, ...]:
    """In canonical order, their shares made to sum to 1; equal shares without `weights`."""
    weights = [1.0] * len(folders) if weights is None else list(weights)
    problems = []
    if not folders or len(weights) != len(folders):
        problems.append(
            Problem("soup", f"{len(folders)} checkpoints and {len(weights)} weights: one weight each is needed")
        )
    problems += [Problem("soup", f"weights must be over 0, found {weight}") for weight in weights if not weight > 0]
    if problems:
        raise InputError(problems)
    total = sum(sorted(weights))
    found = [
        Ingredient(Path(folder), weight / total, checkpoints.manifest(folder).files[WEIGHTS])
        for folder, weight in zip(folders, weights, strict=True)
    ]
    return tuple(sorted(found, key=lambda one: (one.sha256, one.weight)))


def soup_name(parts: Sequence[Ingredient]) -> str:
    """12 hexadecimal digits: the same ingredients and shares, the same soup."""
    content = [[part.sha256, part.weight] for part in parts]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]


def average(parts: Sequence[Ingredient], out: Path, evidence: Mapping[str, Any] | None = None) -> Path:
    """Writes the soup to `out/soup-<name>`, a checkpoint folder; an existing one is kept.

    `evidence`: whatever the manifest should say beside ingredients, hashes and weights (splits, scores).
    """
    folder = Path(out) / f"soup-{soup_name(parts)}"
    if folder.exists():
        return folder
    parts = sorted(parts, key=lambda one: (one.sha256, one.weight))
    about = checkpoints.manifest(parts[0].folder)
    files = {name: content for name, content in checkpoints.files(parts[0].folder).items() if name != MANIFEST}
    recipe = {
        "format": 1,
        "base": about.base,
        "base_weights": about.base_weights,
        "ingredients": [
            {"checkpoint": "/".join(part.folder.parts[-2:]), "weights_sha256": part.sha256, "weight": part.weight}
            for part in parts
        ],
        "evidence": dict(evidence or {}),
    }
    files[MANIFEST] = (json.dumps(recipe, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
    kept = about.model_dump(exclude={"format", "files", "tokenizer_sha256", "step", "seed", "recipe"})
    step = max(checkpoints.manifest(part.folder).step for part in parts)
    return checkpoints.write(folder, mean(parts), files, **kept, step=step)


def mean(parts: Sequence[Ingredient]) -> dict[str, Tensor]:
    """The soup's tensors by the student's names."""
    from safetensors import safe_open

    _same_layout(parts)
    equal = len({part.weight for part in parts}) == 1
    with ExitStack() as stack:
        files = [stack.enter_context(safe_open(part.folder / WEIGHTS, framework="pt")) for part in parts]
        # Equal shares: a sum, divided once; else products with the shares.
        shares = [1.0 if equal else part.weight for part in parts]
        divisor = float(len(parts)) if equal else 1.0
        names = sorted(files[0].keys())
        return {checkpoints.student_name(name): _mean(name, files, shares, divisor) for name in names}


def _mean(name: str, files: Sequence[Any], shares: Sequence[float], divisor: float) -> Tensor:
    first = files[0].get_tensor(name)
    if not first.is_floating_point():
        if any(not first.equal(file.get_tensor(name)) for file in files[1:]):
            raise InputError(Problem(name, "holds integers that differ between the ingredients: they have no mean"))
        return first
    total = first.double() * shares[0]
    for file, share in zip(files[1:], shares[1:], strict=True):
        total += file.get_tensor(name).double() * share
    return (total / divisor).to(first.dtype)


def _same_layout(parts: Sequence[Ingredient]) -> None:
    first = layout(parts[0].folder)
    problems = [Problem(str(part.folder), "holds other tensors than the rest: admit the ingredients first")
                for part in parts[1:] if layout(part.folder) != first]  # fmt: skip
    if problems:
        raise InputError(problems)
