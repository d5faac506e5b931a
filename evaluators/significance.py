"""Is a difference real: sign tests and the paired bootstrap over families (DESIGN section 6); Holm is in corpora/holm.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 10_000
LEVEL = 0.95
_AT_ONCE = 1_000


@dataclass(frozen=True)
class SignTest:
    wins: int
    losses: int
    p: float


@dataclass(frozen=True)
class Interval:
    mean: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0


def sign_test(differences: np.ndarray) -> SignTest:
    """Exact two-sided sign test on the queries whose values differ; none: p = 1. `differences` `[queries]`."""
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    return SignTest(wins, losses, sign_p(wins, losses))


def sign_p(wins: int, losses: int) -> float:
    from scipy.stats import binomtest

    return float(binomtest(wins, wins + losses, 0.5).pvalue) if wins + losses else 1.0


def resampled_means(
    values: np.ndarray, families: Sequence[str], rng: np.random.Generator, resamples: int = RESAMPLES,
) -> np.ndarray:
    """Means over queries in resamples of whole families: float64 `[resamples, columns]`.

    values: `[queries, columns]`, NaN where a query does not count for a column; the columns of one resample share
    its families, so that their differences and means are paired. NaN where a resample holds no query of a column.
    """
    values = np.asarray(values, float)
    labels = {name: place for place, name in enumerate(dict.fromkeys(families))}
    member = np.array([labels[name] for name in families], np.int64)
    sums, counts = np.zeros((2, len(labels), values.shape[1]))
    np.add.at(sums, member, np.nan_to_num(values, nan=0.0))
    np.add.at(counts, member, ~np.isnan(values))
    found = []
    for first in range(0, resamples, _AT_ONCE):
        drawn = rng.multinomial(len(labels), np.full(len(labels), 1 / len(labels)), min(_AT_ONCE, resamples - first))
        total, number = drawn @ sums, drawn @ counts
        found.append(np.divide(total, number, out=np.full(total.shape, np.nan), where=number > 0))
    return np.concatenate(found)


def paired_interval(
    differences: np.ndarray, families: Sequence[str], rng: np.random.Generator, resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Interval:
    """Mean of the paired differences `[queries]` and its percentile interval, clustered by family."""
    differences = np.asarray(differences, float)
    means = resampled_means(differences[:, None], families, rng, resamples)[:, 0]
    return Interval(float(differences.mean()), *quantiles(means, level))


def quantiles(means: np.ndarray, level: float = LEVEL) -> tuple[float, float]:
    """The middle `level` of resampled means `[resamples]`."""
    low, high = np.nanquantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
