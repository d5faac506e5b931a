"""Builds a few real soups and evaluates them on dev: what the proxy promised, measured (DESIGN section 8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweeps.soup.average import Ingredient, average, ingredients
from sweeps.soup.propose import Member, Merit, Proposal, best_single

Evaluate = Callable[[Path], Mapping[str, float]]


@dataclass(frozen=True)
class Candidate:
    """`kinds`: how it came up (proposed, uniform, greedy, single); `figures`: measured on dev, by the ledger's names."""

    kinds: tuple[str, ...]
    ingredients: tuple[Ingredient, ...]
    folder: Path
    figures: dict[str, float]
    merit: float

    @property
    def is_single(self) -> bool:
        return len(self.ingredients) == 1


@dataclass(frozen=True)
class Verification:
    single: Candidate
    soups: tuple[Candidate, ...]  # best first

    @property
    def best(self) -> Candidate:
        """The best soup; the single where none is better on dev."""
        return max((self.single, *self.soups), key=lambda candidate: candidate.merit)


def verify(
    members: Sequence[Member],
    proposals: Sequence[Proposal],
    merit: Merit,
    evaluate: Evaluate,
    out: Path,
    evidence: Mapping[str, Any],
    greedy: bool = False,
) -> Verification:
    """Averages and evaluates the proposals and the uniform soup of each trial's best, and, if asked, the greedy one.

    `members`: admitted checkpoints with their figures on dev; `evaluate`: the full suites on dev for a folder.
    """
    kinds: dict[tuple[int, ...], list[str]] = {}
    for proposal in proposals:
        kinds.setdefault(proposal.members, []).append("proposed")
    uniform = best_of_each_trial(members, merit)
    if len(uniform) > 1:
        kinds.setdefault(uniform, []).append("uniform")
    measured: dict[tuple[int, ...], Candidate] = {}

    def measure(positions: tuple[int, ...]) -> Candidate:
        if positions not in measured:
            parts = ingredients([members[i].folder for i in positions])
            folder = average(parts, out, evidence)
            figures = dict(evaluate(folder))
            measured[positions] = Candidate(tuple(kinds[positions]), parts, folder, figures, merit(figures))
        return measured[positions]

    if greedy:
        _grow(members, merit, measure, kinds)
    for positions in kinds:
        measure(positions)
    best = best_single(members, merit)
    own = members[best]
    single = Candidate(("single",), ingredients([own.folder]), own.folder, dict(own.figures), merit(own.figures))
    soups = sorted(measured.values(), key=lambda c: (-c.merit, len(c.ingredients), c.folder.name))
    return Verification(single, tuple(soups))


def best_of_each_trial(members: Sequence[Member], merit: Merit) -> tuple[int, ...]:
    """Positions of every trial's best checkpoint: what a uniform soup is made of."""
    best: dict[int, int] = {}
    for position, member in enumerate(members):
        held = best.get(member.ordinal)
        if held is None or merit(member.figures) > merit(members[held].figures):
            best[member.ordinal] = position
    return tuple(sorted(best.values()))


def _grow(
    members: Sequence[Member],
    merit: Merit,
    measure: Callable[[tuple[int, ...]], Candidate],
    kinds: dict[tuple[int, ...], list[str]],
) -> None:
    """Wortsman et al., arXiv 2203.05482: from the best checkpoint on, each next one stays if dev does not fall."""
    order = sorted(best_of_each_trial(members, merit), key=lambda i: (-merit(members[i].figures), i))
    pot, level = (order[0],), merit(members[order[0]].figures)
    for position in order[1:]:
        tried = tuple(sorted((*pot, position)))
        kinds.setdefault(tried, []).append("greedy")
        found = measure(tried)
        if found.merit >= level:
            pot, level = tried, found.merit
