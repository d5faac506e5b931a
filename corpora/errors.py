"""The one small hierarchy of errors, and the exit codes they carry (DESIGN section 9)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

DONE, FAILED, WRONG_INPUT, NOT_CERTIFIED = 0, 1, 2, 3


class StockpotError(Exception):
    """Something failed that the user did not write: exit code 1."""

    exit_code = FAILED


@dataclass(frozen=True)
class Problem:
    """One mistake in an input: where it stands and what to do about it.

    `where` names the file and line (`queries.jsonl:7`) or the key (`recipe.weight`);
    `message` says what was found, what is allowed, and what to do.
    """

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


class InputError(StockpotError):
    """All mistakes of one input at once: exit code 2."""

    exit_code = WRONG_INPUT

    def __init__(self, problems: Iterable[Problem] | Problem):
        self.problems = [problems] if isinstance(problems, Problem) else list(problems)
        super().__init__("\n".join(map(str, self.problems)))

    def __reduce__(self):
        return type(self), (self.problems,)


class NonFinite(StockpotError):
    """A loss or a metric that is not a finite number: the trial fails at once."""
