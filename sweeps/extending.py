"""A sweep that goes on under a changed YAML: a larger budget extends it, anything else is refused by its key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from corpora.errors import InputError, Problem
from corpora.wording import short
from sweeps.config import SweepConfig
from sweeps.summary import flat

RAISED = ("search.trials", "budget.hours", "budget.gpu_hours")
"""What may grow, or be lifted, while everything that was done stays as it is."""
FREE = ("notify.",)
"""What no trial depends on."""


def check_same(recorded: Mapping[str, Any], config: SweepConfig) -> bool:
    """Whether `config` extends the sweep that began under `recorded`; raises InputError naming every other change.

    Keys that a later version of the configuration added count with their defaults.
    """
    try:
        before = dict(flat(SweepConfig.model_validate(recorded).model_dump(mode="json", by_alias=True)))
    except ValidationError:
        before = dict(flat(recorded))
    after = dict(flat(config.model_dump(mode="json", by_alias=True)))
    changed = [key for key in dict.fromkeys((*before, *after)) if before.get(key) != after.get(key) and not key.startswith(FREE)]
    problems = [
        Problem(f"--resume: {key}", f"is {short(after.get(key))} now, the sweep began with {short(before.get(key))}: "
                + ("it may grow, not shrink" if key in RAISED else "undo the change, or start a new sweep in another --out")
                + f" (only {', '.join(RAISED)} may be raised)")
        for key in changed
        if not (key in RAISED and _is_larger(before.get(key), after.get(key)))
    ]  # fmt: skip
    if problems:
        raise InputError(problems)
    return bool(changed)


def _is_larger(before: float | None, after: float | None) -> bool:
    """None is no limit."""
    return after is None or (before is not None and after > before)
