"""Ranks sets of checkpoints without a forward pass (DESIGN section 8).

The proxy of a soup's similarities is the mean of its ingredients': while a checkpoint is
evaluated on dev its cosines of queries to chunks are kept (sweeps/soup/similarities.py),
and a set is ranked by the metrics of their mean. For figures that the proxy does not give
(`chunk-size/drop`), the mean of the ingredients' own stands in, which promises no gain.

Sets grow one checkpoint at a time from the BEAM best smaller ones. Several objectives are
weighed by `merit`: half their mean, half the worst of them, each stretched so that the
single checkpoints span 0 to 1. A set whose figures break a guardrail is not proposed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sweeps.config import Objective

BEAM = 6  # sets of each size that are grown further

Figures = Mapping[str, float]
Score = Callable[[tuple[int, ...]], Figures]


@dataclass(frozen=True)
class Member:
    """An admitted checkpoint. `figures`: of dev, by the ledger's names (`dev/context/Answer@10`)."""

    ordinal: int
    step: int
    folder: Path
    figures: Figures


@dataclass(frozen=True)
class Proposal:
    members: tuple[int, ...]  # positions in the list of members, ascending
    figures: dict[str, float]  # of the proxy
    merit: float


class Merit:
    """One number for several objectives, on the scale that the single checkpoints span.

    `broken`: the guardrails that figures break; what breaks one has the merit -inf.
    """

    def __init__(
        self, objectives: Sequence[Objective], singles: Sequence[Figures], broken: Callable[[Figures], Sequence[str]] = lambda _: ()
    ):
        self._broken = broken
        self._names = [f"dev/{objective.metric}" for objective in objectives]
        self._signs = np.array([1.0 if objective.direction == "maximize" else -1.0 for objective in objectives])
        values = np.array([self._values(figures) for figures in singles])
        self._low = values.min(axis=0)
        self._span = np.where(np.ptp(values, axis=0) > 0, np.ptp(values, axis=0), 1.0)

    def __call__(self, figures: Figures) -> float:
        if self._broken(figures):
            return -math.inf
        stretched = (self._values(figures) - self._low) / self._span
        return float((stretched.mean() + stretched.min()) / 2)

    def _values(self, figures: Figures) -> np.ndarray:
        return self._signs * np.array([figures[name] for name in self._names])


def best_single(members: Sequence[Member], merit: Merit) -> int:
    """Position of the best checkpoint by its measured figures; of equals the first in order of trials and steps."""
    return min(range(len(members)), key=lambda i: (-merit(members[i].figures), members[i].ordinal, members[i].step))


def propose(
    members: Sequence[Member], score: Score, merit: Merit, largest: int, per_trial: int, count: int
) -> list[Proposal]:
    """The `count` best sets of 2 to `largest` members, at most `per_trial` from one trial, best first.

    `score`: figures of the proxy for positions in `members`.
    """

    def rated(positions: tuple[int, ...]) -> Proposal:
        figures = {**mean_figures(members, positions), **score(positions)}
        return Proposal(positions, figures, merit(figures))

    found: dict[tuple[int, ...], Proposal] = {}
    grown = [rated((i,)) for i in range(len(members))]
    for _ in range(2, largest + 1):
        beam = sorted(grown, key=_order)[:BEAM]
        wider = {
            tuple(sorted((*one.members, i)))
            for one in beam
            for i in range(len(members))
            if _fits(one.members, i, members, per_trial)
        }
        grown = [rated(positions) for positions in sorted(wider)]
        found |= {one.members: one for one in grown}
    return sorted((one for one in found.values() if one.merit > -math.inf), key=_order)[:count]


def mean_figures(members: Sequence[Member], positions: Sequence[int]) -> dict[str, float]:
    """Means of the figures that all these members have."""
    names = set.intersection(*(set(members[i].figures) for i in positions))
    return {name: float(np.mean([members[i].figures[name] for i in positions])) for name in sorted(names)}


def _order(proposal: Proposal) -> tuple[float, int, tuple[int, ...]]:
    """Merit first; of equals the smaller set, then the earlier members."""
    return -proposal.merit, len(proposal.members), proposal.members


def _fits(positions: tuple[int, ...], more: int, members: Sequence[Member], per_trial: int) -> bool:
    from_trial = sum(members[i].ordinal == members[more].ordinal for i in positions)
    return more not in positions and from_trial < per_trial
