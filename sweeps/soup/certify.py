"""Does the soup ship? One look at the confirm split, with its price (DESIGN section 8).

The soup ships only if the interval of its mean gain over the best single checkpoint lies
above 0 (paired bootstrap over families, the mean of the objectives' gains) and no suite is
significantly worse (exact sign tests, Holm over the suites' headline figures). Else the
best single ships, and the reason is said.

Every further candidate on the same split pays for the repeated look: look number k is
taken at the level ALPHA * 6 / (pi k)^2, so that all looks ever taken together err with
probability ALPHA at most; harm is looked for at ALPHA each time. A verdict that was recorded is returned when asked for again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from corpora.holm import holm
from evaluators.compare import paired
from evaluators.results import Results
from evaluators.significance import quantiles, resampled_means, sign_test
from sweeps.config import Objective

ALPHA = 0.05
FAMILIES = 20  # with fewer, a confirm split cannot certify
HEADLINES = (
    "q2c/nDCG@10",
    "q2d/nDCG@10",
    "context/Answer@10",
    "context/Document@1",
    "conteb/nDCG@10",
    "spans/UnionHit@5",
)
CHUNK_SIZES = "chunk-size/nDCG@10["  # every size is a headline of its own
SOUP, SINGLE = "soup", "best-single"


@dataclass(frozen=True)
class Guard:
    """A suite's headline figure: single, soup and gain are means over queries; p after Holm, two-sided."""

    figure: str
    single: float
    soup: float
    gain: float
    p: float
    is_worse: bool


@dataclass(frozen=True)
class Verdict:
    key: str
    decision: str  # `soup` or `best-single`
    reason: str
    families: int
    look: int  # 1 for the first candidate on this confirm split; 0: no look was taken
    alpha: float  # level of this look
    gain: float | None  # mean of the objectives' gains, direction taken into account
    low: float | None
    high: float | None
    guards: tuple[Guard, ...]

    @property
    def ships_soup(self) -> bool:
        return self.decision == SOUP

    def payload(self) -> dict[str, Any]:
        """Of the ledger's `soup` event with what = `verdict`."""
        return {"what": "verdict", **asdict(self)}


def verdict_key(single_sha256: str, soup_sha256: str, confirm_hash: str) -> str:
    """12 hexadecimal digits: the same two models on the same split, the same verdict."""
    return hashlib.sha256(json.dumps([single_sha256, soup_sha256, confirm_hash]).encode()).hexdigest()[:12]


def recorded(soup_events: Mapping[tuple[str, str], Mapping[str, Any]], key: str) -> Verdict | None:
    """The verdict that the ledger's state (`state.soup`) holds under this key."""
    event = soup_events.get(("verdict", key))
    if event is None:
        return None
    fields = {name: event[name] for name in Verdict.__dataclass_fields__}
    return Verdict(**fields | {"guards": tuple(Guard(**guard) for guard in event["guards"])})


def looks_taken(soup_events: Mapping[tuple[str, str], Mapping[str, Any]]) -> int:
    """Candidates that the confirm split was asked about so far; under 20 families none was."""
    return sum(what == "verdict" and event["look"] > 0 for (what, _), event in soup_events.items())


def level(look: int) -> float:
    """Alpha of the look-th candidate, from 1: the series sums to ALPHA."""
    return ALPHA * 6 / (math.pi * look) ** 2


def certify(
    single: Results, soup: Results, objectives: Sequence[Objective], key: str, looks: int, rng: np.random.Generator
) -> Verdict:
    """`single`, `soup`: both evaluated on confirm; `looks`: candidates certified on it before this one."""
    families = single.families().nunique()
    if families < FAMILIES:
        reason = f"the confirm split has {families} families, {FAMILIES} are needed to certify: the best single ships"
        return Verdict(key, SINGLE, reason, families, 0, 0.0, None, None, None, ())
    alpha = level(looks + 1)
    gain, low, high = _mean_gain(single, soup, objectives, alpha, rng)
    guards = _guards(single, soup)
    worse = [guard.figure for guard in guards if guard.is_worse]
    bounds = f"{gain:+.4f}, {100 * (1 - alpha):.1f}% interval {low:+.4f} to {high:+.4f} over {families} families"
    if low > 0 and not worse:
        decision, reason = SOUP, f"mean gain over the best single {bounds}; no suite is significantly worse"
    elif low > 0:
        decision, reason = (
            SINGLE,
            f"mean gain {bounds}, but significantly worse at {', '.join(worse)}: the best single ships",
        )
    else:
        decision, reason = SINGLE, f"mean gain {bounds}: not certainly over 0, so the best single ships"
    return Verdict(key, decision, reason, families, looks + 1, alpha, gain, low, high, guards)


def _mean_gain(
    single: Results, soup: Results, objectives: Sequence[Objective], alpha: float, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Mean over the objectives of their mean gains, and its interval; all objectives share the families of a resample."""
    gains = {
        objective.metric: paired(single, soup, objective.metric)["difference"]
        * (1 if objective.direction == "maximize" else -1)
        for objective in objectives
    }
    family = single.families()
    queries = [query for query in family.index if any(query in gain.index for gain in gains.values())]
    table = np.column_stack([gain.reindex(queries).to_numpy(float) for gain in gains.values()])
    means = resampled_means(table, family.loc[queries].tolist(), rng).mean(axis=1)
    return float(np.nanmean(table, axis=0).mean()), *quantiles(means, 1 - alpha)


def _guards(single: Results, soup: Results) -> tuple[Guard, ...]:
    figures = [name for name in single.figures() if name in HEADLINES or name.startswith(CHUNK_SIZES)]
    tables = [paired(single, soup, figure) for figure in figures]
    tests = [sign_test(table["difference"].to_numpy()) for table in tables]
    guards = []
    for figure, table, test, p in zip(figures, tables, tests, holm([test.p for test in tests]), strict=True):
        gain = float(table["difference"].mean())
        worse = p <= ALPHA and test.losses > test.wins
        guards.append(Guard(figure, float(table.value_a.mean()), float(table.value_b.mean()), gain, p, worse))
    return tuple(guards)
