"""Checkpoint folders: what a student is, on disk (DESIGN section 5).

    config.json, tokenizer.json, tokenizer_config.json    the encoder's own files, byte for byte
    model.safetensors    float32: the encoder's tensors under its own names, and `projection.weight`
    manifest.json        what it is, where it comes from, SHA-256 of each file above
    state/               for exact resumption only: optimiser and RNG, safetensors + json

A folder is whole or absent, needs nothing outside it, and equal weights are equal bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from corpora.errors import InputError, Problem
from corpora.files import build_folder, sha256_of
from trainables.layouts import Frame
from trainables.recipe import Frozen

WEIGHTS, MANIFEST, STATE = "model.safetensors", "manifest.json", "state"
PROJECTION = "projection.weight"


class Manifest(Frozen):
    """base: name of the base+ checkpoint, the hash of all it was built from; base_weights: SHA-256 of its
    weights, the same for every checkpoint that may be averaged with this one; encoder: where base+ came from;
    files: SHA-256 of each file beside the manifest."""

    format: Literal[1] = 1
    base: str
    base_weights: str
    encoder: str
    layers: int
    dimension: int
    quantiser: Literal["none", "int8-absmax", "int8-tanh"] = "none"
    frame: Frame
    tokenizer_sha256: str
    base_seed: int
    step: int = 0
    seed: int | None = None
    recipe: dict[str, Any] | None = None
    files: dict[str, str]


@dataclass(frozen=True)
class State:
    """What a trial needs beside the weights to go on as if it had never stopped."""

    tensors: Mapping[str, Tensor]
    values: Mapping[str, Any]

    @classmethod
    def of(cls, optimiser: torch.optim.Optimizer) -> State:
        """The optimiser's moments and torch's random numbers; the weights are the checkpoint's own."""
        packed = optimiser.state_dict()
        tensors, values = {"rng/cpu": torch.get_rng_state()}, {}
        for device in range(torch.cuda.device_count()):
            tensors[f"rng/cuda/{device}"] = torch.cuda.get_rng_state(device)
        for parameter, slots in packed["state"].items():
            for name, value in slots.items():
                place = f"optimiser/{parameter}/{name}"
                (tensors if isinstance(value, Tensor) else values)[place] = value
        return cls(tensors, {"slots": values, "groups": packed["param_groups"]})

    def restore(self, optimiser: torch.optim.Optimizer) -> None:
        """Puts all back; the optimiser holds the same parameters in the same order."""
        slots: dict[int, dict[str, Any]] = {}
        for place, value in (*self.tensors.items(), *self.values["slots"].items()):
            kind, *rest = place.split("/")
            if kind == "optimiser":
                slots.setdefault(int(rest[0]), {})[rest[1]] = value
            elif rest[0] == "cpu":
                torch.set_rng_state(value)
            elif int(rest[1]) < torch.cuda.device_count():
                torch.cuda.set_rng_state(value, int(rest[1]))
        optimiser.load_state_dict({"state": slots, "param_groups": self.values["groups"]})


def write(
    folder: Path, tensors: Mapping[str, Tensor], files: Mapping[str, bytes], state: State | None = None, **about: Any,
) -> Path:
    """Writes a checkpoint folder atomically; an existing one is kept. `about`: the manifest's fields.

    Without `base_weights` the checkpoint is a base+ itself.
    """

    def fill(beside: Path) -> None:
        save({_on_disk(name): tensor for name, tensor in tensors.items()}, beside / WEIGHTS)
        for name, content in files.items():
            (beside / name).write_bytes(content)
        sums = _sums(beside, (WEIGHTS, *files))
        manifest = Manifest(**{
            "base_weights": sums[WEIGHTS], "tokenizer_sha256": sums["tokenizer.json"], **about, "files": sums,
        })
        (beside / MANIFEST).write_text(manifest.model_dump_json(indent=1) + "\n")
        if state is not None:
            _write_state(state, beside / STATE)

    return build_folder(folder, fill)


def write_manifest(folder: Path, about: Manifest) -> None:
    """The manifest of a folder that holds the same checkpoint, some of its files changed."""
    changed = about.model_copy(update={"files": _sums(folder, about.files)})
    (folder / MANIFEST).write_text(changed.model_dump_json(indent=1) + "\n")


def _sums(folder: Path, names: Iterable[str]) -> dict[str, str]:
    return {name: sha256_of(folder / name) for name in sorted(names)}


def manifest(folder: Path) -> Manifest:
    path = Path(folder) / MANIFEST
    if not path.is_file():
        raise InputError(Problem(str(path), "no such file: a checkpoint is a folder with manifest.json"))
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise InputError(
            Problem(f"{path}: {'.'.join(map(str, found['loc'])) or 'json'}", found["msg"]) for found in error.errors()
        ) from None


def verify(folder: Path) -> list[Problem]:
    """Everything that is wrong with a checkpoint: missing, changed or broken files, numbers that are not finite."""
    folder = Path(folder)
    try:
        about = manifest(folder)
    except InputError as error:
        return error.problems
    sums = {folder / name: expected for name, expected in about.files.items()}
    if (folder / STATE).exists():
        sums[folder / STATE / "state.safetensors"] = _state_values(folder).pop("sha256", "")
    problems = []
    for path, expected in sums.items():
        if not path.is_file():
            problems.append(Problem(str(path), "is missing: copy the whole folder again"))
        elif (found := sha256_of(path)) != expected:
            problems.append(Problem(str(path), f"SHA-256 is {found[:12]}..., the manifest says {expected[:12] or 'nothing'}...: "
                                    "the file changed after it was written"))
    if not problems:
        problems = [Problem(f"{folder / WEIGHTS}: {name}", "holds numbers that are not finite")
                    for name, tensor in weights(folder).items() if not tensor.isfinite().all()]
    return problems


def weights(folder: Path) -> dict[str, Tensor]:
    """float32 tensors by the student's names: `encoder.*` and `projection.weight`."""
    path = Path(folder) / WEIGHTS
    try:
        return {student_name(name): tensor for name, tensor in load_file(path).items()}
    except (OSError, SafetensorError) as error:
        raise InputError(Problem(str(path), f"cannot be read as safetensors ({error})")) from None


def files(folder: Path) -> dict[str, bytes]:
    """The encoder's own files, to be carried on unchanged."""
    return {name: (Path(folder) / name).read_bytes() for name in manifest(folder).files if name != WEIGHTS}


def student_name(name: str) -> str:
    """The student's name of a tensor in `model.safetensors`."""
    return name if name == PROJECTION else f"encoder.{name}"


def _on_disk(name: str) -> str:
    """`AutoModel` reads the encoder's tensors under its own names."""
    return name.removeprefix("encoder.")


def read_state(folder: Path) -> State | None:
    """The state beside a checkpoint, checked against its sum; None without."""
    folder = Path(folder) / STATE
    if not folder.exists():
        return None
    recorded = _state_values(folder.parent)
    if recorded.pop("sha256", "") != sha256_of(folder / "state.safetensors"):
        raise InputError(Problem(str(folder), "the state changed after it was written: resume from an earlier checkpoint"))
    return State(load_file(folder / "state.safetensors"), recorded)


def _state_values(folder: Path) -> dict[str, Any]:
    """What state.json holds; nothing where it is missing or cut short, so that no sum agrees with it."""
    try:
        return json.loads((folder / STATE / "state.json").read_text())
    except (OSError, ValueError):
        return {}


def drop_older_states(folder: Path, step: int, kept_every: int | None = None) -> None:
    """Removes what resumes the checkpoints in `folder` before `step`, two thirds of their size; the checkpoints stay.

    `kept_every`: the multiples of so many steps keep it, for other trials to go on from. The state is moved out of its
    folder's way first, so that no checkpoint is ever seen with half of it.
    """
    for path in sorted(Path(folder).glob(f"step-{6 * '[0-9]'}/{STATE}")):
        own = int(path.parent.name.removeprefix("step-"))
        if own < step and not (kept_every and own % kept_every == 0):
            aside = path.with_name(f".{STATE}")
            path.rename(aside)
            shutil.rmtree(aside)


def _write_state(state: State, folder: Path) -> None:
    folder.mkdir()
    save(state.tensors, folder / "state.safetensors")
    recorded = {**state.values, "sha256": sha256_of(folder / "state.safetensors")}
    (folder / "state.json").write_text(json.dumps(recorded, sort_keys=True, indent=1) + "\n")


def save(tensors: Mapping[str, Tensor], path: Path) -> None:
    """One order, own memory for each: the same tensors are the same bytes."""
    ordered = {name: tensors[name].detach().cpu().clone().contiguous() for name in sorted(tensors)}
    try:
        save_file(ordered, path, metadata={"format": "pt"})
    except SafetensorError as error:  # of a full disk, as `I/O error: No space left on device (os error 28)`
        code = re.search(r"os error (\d+)", str(error))
        raise OSError(int(code[1]), os.strerror(int(code[1])), str(path)) if code else error from None
    path.chmod(0o644)


def digest(about: Mapping[str, Any]) -> str:
    """Twelve hex digits that name what `about` describes."""
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:12]
