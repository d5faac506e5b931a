"""The smallest protocol for a training loop, the built-in one or a user's own (docs/own-trainer.md).

Who keeps it is swept, resumed, evaluated, logged and souped by the same commands.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol

import torch

from corpora.errors import InputError, Problem
from corpora.files import sha256_of
from trainables import checkpoints
from trainables.recipe import LoopRecipe
from trainables.student import Student


class Trainer(Protocol):
    """Trains a student from `start`, a checkpoint folder, on `data`, a folder that `Mixture.open` reads.

    `Recipe`: its settings, a subclass of LoopRecipe: each field can be fixed or searched in the sweep's YAML.
    `shares_batches` (False unless it says so): in several processes, each works on its part of every batch and the gradients
    are summed (trainables/processes.py); only such a trainer is given several GPUs.
    What it computes must follow from (start, data, recipe) alone, so that a resumed trial ends where an undisturbed
    one does: draw random numbers from `recipe.seed` and the step.
    """

    Recipe: ClassVar[type[LoopRecipe]]
    student: Student

    def __init__(self, start: Path, data: Path, recipe: Any, device: str) -> None: ...

    def train(self, steps: int) -> Mapping[str, float]:
        """So many further optimiser steps; what they measured, `loss` at least, each as its mean over them."""
        ...

    def save(self, folder: Path) -> None:
        """A checkpoint with the state that resumes it: `save_checkpoint` writes it."""
        ...

    def load(self, folder: Path) -> None:
        """Goes on from a checkpoint that `save` wrote: `load_checkpoint` reads it."""
        ...


def save_checkpoint(folder: Path, student: Student, optimiser: torch.optim.Optimizer, recipe: LoopRecipe, step: int) -> None:
    """`folder` whole or not at all; weights, manifest, and beside them the optimiser's and the random numbers' state."""
    student.save(folder, step=step, seed=recipe.seed, recipe=recipe.model_dump(mode="json"), quantiser=recipe.quantiser,
                 state=checkpoints.State.of(optimiser))  # fmt: skip


def load_checkpoint(folder: Path, student: Student, optimiser: torch.optim.Optimizer) -> int:
    """Puts weights and state back; returns the optimiser steps done."""
    student.load_state_dict(checkpoints.weights(folder))
    checkpoints.read_state(folder).restore(optimiser)
    return checkpoints.manifest(folder).step


def trainer_of(spelled: str | None) -> type[Trainer]:
    """The class that `trainer:` of a sweep names, `module.path:Class` or `file.py:Class`; the built-in one without."""
    if spelled is None:
        from trainables.training import BuiltIn

        return BuiltIn
    where, _, name = spelled.rpartition(":")
    try:
        module = _module_of_file(Path(where)) if where.endswith(".py") else importlib.import_module(where)
        found = getattr(module, name)
    except InputError:
        raise
    except AttributeError:
        raise InputError(Problem("trainer", f"{where} has no {name!r}: the spelling is `file.py:Class` or `module.path:Class`")) from None
    except Exception as error:  # whatever a user's file does when it is read
        raise InputError(Problem("trainer", f"{where or spelled} cannot be imported ({type(error).__name__}: {error})")) from error
    problems = [Problem("trainer", f"{spelled} {what}") for what in _lacks(found)]
    if problems:
        raise InputError(problems)
    return found


def source_of(spelled: str) -> Path:
    """The file that defines a user's trainer."""
    return Path(inspect.getfile(trainer_of(spelled)))


def _module_of_file(path: Path) -> Any:
    """Imported once a content: an edited file is another module."""
    if not path.is_file():
        raise InputError(Problem("trainer", f"{path} is no file; a relative path starts at the YAML's folder"))
    name = f"stockpot_trainer_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}_{sha256_of(path)[:12]}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _lacks(found: Any) -> list[str]:
    """What keeps `found` from being a trainer."""
    if not inspect.isclass(found):
        return ["is no class"]
    lacking = [f"lacks the method {name}" for name in ("train", "save", "load") if not callable(getattr(found, name, None))]
    recipe = getattr(found, "Recipe", None)
    if not (inspect.isclass(recipe) and issubclass(recipe, LoopRecipe)):
        lacking.append("needs an attribute `Recipe`, a subclass of trainables.recipe.LoopRecipe, that describes its settings")
    return lacking
