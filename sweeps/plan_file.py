"""A plan straight from a YAML file: every problem of the file and of what it names, at once, each with its line.

What is wrong in one section says nothing about the others: those that are valid are planned as if the wrong ones
were not there, and their problems are told beside those of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from corpora.errors import InputError, Problem
from corpora.yaml_file import Lines, read_yaml
from sweeps.config import SweepConfig, config_of, top_key
from sweeps.config_reading import resolved
from sweeps.machines import Machine
from sweeps.plan import Plan, look, plan

STANDINS: dict[str, Any] = {"name": "x", "search": {"trials": 1}, "corpora": {"generate": "quick"}}
"""In place of the sections that a sweep cannot be without, where they are wrong."""


def plan_file(
    path: Path, machines: Callable[[], Sequence[Machine] | None] = lambda: None,
    change: Callable[[SweepConfig], SweepConfig] = lambda config: config,
) -> Plan:
    """The plan of the sweep at `path`. `machines` as `plan` takes them, asked for once the YAML has been read; `change`:
    the sweep that is planned in place of the one in the file."""
    data, lines = read_yaml(Path(path))
    data = resolved(data, Path(path).absolute().parent)
    try:
        config = config_of(data, Path(path), lines)
    except InputError as error:
        raise InputError([*error.problems, *_of_valid_sections(data, Path(path), lines, machines)]) from None
    try:
        return plan(change(config), machines())
    except InputError as error:
        raise InputError(located(problem, Path(path), lines) for problem in error.problems) from None


def located(problem: Problem, path: Path, lines: Lines) -> Problem:
    """With the file and the line in front, where the problem names a key of the YAML."""
    key = problem.where.partition(":")[0]
    if key.partition(".")[0] not in _sections():
        return problem
    return Problem(f"{path}:{lines.of(tuple(key.split('.')))}: {problem.where}", problem.message)


def _of_valid_sections(
    data: dict[str, Any], path: Path, lines: Lines, machines: Callable[[], Sequence[Machine] | None]
) -> list[Problem]:
    """What planning finds wrong with the sections that the schema accepts; nothing where they make no sweep alone."""
    try:
        SweepConfig.model_validate(data)
    except ValidationError as error:
        wrong = {top_key(one) for one in error.errors()}
    sound = {key: value for key, value in data.items() if key in _sections() and key not in wrong}
    try:
        config = SweepConfig.model_validate({key: value for key, value in STANDINS.items() if key not in sound} | sound)
        found = look(config, machines(), skip=wrong).problems
    except (ValidationError, InputError):
        return []
    return [located(problem, path, lines) for problem in found if problem.where.partition(":")[0].partition(".")[0] not in wrong]


def _sections() -> set[str]:
    return {field.alias or name for name, field in SweepConfig.model_fields.items()}
