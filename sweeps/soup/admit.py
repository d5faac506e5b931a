"""Which checkpoints may be averaged: all refusals at once, and how the others lie to each other (DESIGN section 8).

A task vector is a checkpoint's weights minus those of base+. Their norms and cosines are
reported, never judged: nearly parallel ones average to little news, opposed ones cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corpora.errors import Problem
from trainables import checkpoints
from trainables.checkpoints import WEIGHTS, Manifest

SAME = ("base", "base_weights", "encoder", "layers", "dimension", "quantiser", "frame", "tokenizer_sha256")
"""Fields of the manifest in which ingredients must agree; `frame` covers pooling's layout."""
BLOCK = 1 << 18  # numbers of each checkpoint in memory at once while task vectors are compared


@dataclass(frozen=True)
class Admission:
    admitted: tuple[Path, ...]
    refused: tuple[Problem, ...]  # `where` is the folder
    norms: np.ndarray  # [admitted] of the task vectors
    cosines: np.ndarray  # [admitted, admitted]

    @property
    def lines(self) -> list[str]:
        """The report for people."""
        off = self.cosines[~np.eye(len(self.norms), dtype=bool)]
        told = [f"{len(self.admitted)} checkpoints admitted, {len(self.refused)} refused"]
        told += [f"refused {problem}" for problem in self.refused]
        if len(off):
            told.append(f"task vectors: norms {self.norms.min():.3g} to {self.norms.max():.3g}, "
                        f"cosines {off.min():.2f} to {off.max():.2f}")  # fmt: skip
        return told


def admit(folders: Sequence[Path], base: Path) -> Admission:
    """`folders`: checkpoints, the one that the others must resemble first; `base`: the base+ checkpoint."""
    folders, refused, admitted = [Path(folder) for folder in folders], [], []
    expected: tuple[Manifest, dict[str, Any]] | None = None
    for folder in folders:
        problems = checkpoints.verify(folder)
        if not problems:
            found = checkpoints.manifest(folder), layout(folder)
            expected = expected or found
            problems = [*_differences(folder, *expected, *found), *_base_problems(folder, found[0], base)]
        refused += problems
        if not problems:
            admitted.append(folder)
    norms, cosines = task_vectors(admitted, base)
    return Admission(tuple(admitted), tuple(refused), norms, cosines)


def layout(folder: Path) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Name -> (dtype, shape) of every tensor, from the file's header alone."""
    from safetensors import safe_open

    with safe_open(Path(folder) / WEIGHTS, framework="pt") as file:
        slices = {name: file.get_slice(name) for name in sorted(file.keys())}
        return {name: (part.get_dtype(), tuple(part.get_shape())) for name, part in slices.items()}


def task_vectors(folders: Sequence[Path], base: Path) -> tuple[np.ndarray, np.ndarray]:
    """Norms [folders] and cosines [folders, folders] of the checkpoints minus base+, block by block in float64."""
    products = np.zeros((len(folders), len(folders)))
    for block in _blocks([base, *folders]):
        deltas = block[1:] - block[0]
        products += deltas @ deltas.T
    norms = np.sqrt(np.diag(products))
    scale = np.where(norms > 0, norms, 1.0)
    return norms, np.clip(products / np.outer(scale, scale), -1, 1)


def midpoint_barrier(first: float, second: float, midpoint: float) -> float:
    """How far the average of two checkpoints falls short of the mean of their scores: over 0, a barrier lies between."""
    return (first + second) / 2 - midpoint


def barriers(
    best: Path,
    others: Sequence[Path],
    score: Callable[[Path], float],
    middle: Callable[[Path, Path], Path],
) -> dict[Path, float]:
    """The barrier between the best checkpoint and each other one.

    `score`: a metric on the probe, higher is better; `middle`: averages two folders and returns the soup's.
    """
    top = score(best)
    return {other: midpoint_barrier(top, score(other), score(middle(best, other))) for other in others}


def _differences(
    folder: Path, expected: Manifest, expected_layout: dict[str, Any], found: Manifest, found_layout: dict[str, Any]
) -> Iterator[Problem]:
    for name in SAME:
        theirs, own = getattr(expected, name), getattr(found, name)
        if theirs != own:
            yield Problem(str(folder), f"{name} is {own}, the others have {theirs}: it cannot be averaged with them")
    missing, more = sorted(set(expected_layout) - set(found_layout)), sorted(set(found_layout) - set(expected_layout))
    for what, names in (("lacks", missing), ("has beside the others'", more)):
        if names:
            yield Problem(str(folder), f"{what} {len(names)} tensors, {names[0]} first")
    for name in sorted(set(expected_layout) & set(found_layout)):
        if expected_layout[name] != found_layout[name]:
            yield Problem(
                str(folder),
                f"{name} is {_spelled(found_layout[name])}, the others have {_spelled(expected_layout[name])}",
            )


def _base_problems(folder: Path, found: Manifest, base: Path) -> Iterator[Problem]:
    own = checkpoints.manifest(base).files[WEIGHTS]
    if found.base_weights != own:
        yield Problem(str(folder), f"grew from base+ {found.base_weights[:12]}, this sweep's is {own[:12]}")


def _spelled(dtype_and_shape: tuple[str, tuple[int, ...]]) -> str:
    dtype, shape = dtype_and_shape
    return f"{dtype} {list(shape)}"


def _blocks(folders: Sequence[Path]) -> Iterator[np.ndarray]:
    """float64 [folders, numbers], the same piece of every checkpoint; integer tensors have no direction."""
    from safetensors import safe_open

    with ExitStack() as stack:
        files = [stack.enter_context(safe_open(folder / WEIGHTS, framework="pt")) for folder in folders]
        for name, (dtype, shape) in layout(folders[0]).items():
            if not dtype.startswith(("F", "BF")):
                continue
            rows = max(1, BLOCK // max(1, int(np.prod(shape[1:]))))
            pieces = [slice(start, start + rows) for start in range(0, shape[0], rows)] if shape else [...]
            for piece in pieces:
                yield np.stack([file.get_slice(name)[piece].double().flatten().numpy() for file in files])
