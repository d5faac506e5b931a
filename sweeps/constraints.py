"""Guardrails: figures of dev that what ships may not let fall (`search.constraints`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sweeps.ledger_state import UNTRAINED, LedgerState, Scores
from sweeps.search_config import Constraint

Figures = Mapping[str, float]


def constraints_of(state: LedgerState) -> tuple[Constraint, ...]:
    given = state.sweep.get("config", {}).get("search", {}).get("constraints", ())
    return tuple(Constraint.model_validate(one) for one in given)


def violations(constraints: Sequence[Constraint], figures: Figures, untrained: Figures) -> dict[str, float]:
    """By how much `figures` break each constraint: over 0 broken, else kept; NaN where a figure is absent.

    Both by the ledger's names on dev; `untrained` may be empty where no constraint names it.
    """
    return {str(one): _violation(one, figures, untrained) for one in constraints}


def broken(constraints: Sequence[Constraint], figures: Figures, untrained: Figures) -> list[str]:
    """The constraints that `figures` break, as the YAML means them; one that cannot be checked is not kept."""
    return [name for name, by in violations(constraints, figures, untrained).items() if not by <= 0]


def keeper(state: LedgerState) -> Callable[[Figures], list[str]]:
    """`broken` for one sweep's figures on dev."""
    constraints, untrained = constraints_of(state), untrained_figures(state)
    return lambda figures: broken(constraints, figures, untrained)


def untrained_figures(state: LedgerState) -> Figures:
    scores: Scores | None = state.baselines.get((UNTRAINED, "dev"))
    return scores.figures if scores else {}


def need_untrained(constraints: Sequence[Constraint]) -> bool:
    return any(one.not_below for one in constraints)


def _violation(one: Constraint, figures: Figures, untrained: Figures) -> float:
    name = f"dev/{one.metric}"
    value: Any = figures.get(name, math.nan)
    if one.at_most is not None:
        return value - one.at_most
    floor = one.at_least if one.at_least is not None else untrained.get(name, math.nan) - one.by
    return floor - value
