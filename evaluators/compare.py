"""Paired comparison of evaluations on the same queries: differences, intervals, sign tests, and what flipped."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from corpora.errors import InputError, Problem
from corpora.holm import holm
from evaluators.results import Results
from evaluators.significance import LEVEL, RESAMPLES, quantiles, resampled_means, sign_test

COLUMNS = ["figure", "task", "a", "b", "value_a", "value_b", "difference", "low", "high", "wins", "losses", "p",
           "p_holm", "families", "verdict"]
SAME = "no difference can be told"
"""The verdict where none can be said to be better; else it is `{encoder} better`."""
ALL = "all"
"""The row of the mean over tasks, where there are several."""
FAMILIES = 6
"""Fewer tell nothing at 95%: were they all on one side, an exact sign test over them would still give p > 0.05."""
LESS_IS_BETTER = ("drop", "ContextTokens")
NEEDLE = ("needle/AUC@", "needle/Preferred@")
_SHOWN = 5


def paired(a: Results, b: Results, figure: str) -> pd.DataFrame:
    """value_a, value_b, difference (b - a) and family by (task, query), of the same queries of the same corpora."""
    left, right = a.figure(figure).rename("value_a"), b.figure(figure).rename("value_b")
    _refuse_other_corpora(a, b, *(set(values.index.unique("task")) for values in (left, right)))
    both = pd.concat([left, right], axis=1)
    _refuse_missing(a, b, figure, both)
    both["difference"] = both.value_b - both.value_a
    return both.join(a.families())


def shared_figures(results: Sequence[Results], wanted: Sequence[str] = ()) -> list[str]:
    """Headline figures that all results have, in the order of the first.

    `wanted`: names, or whole suites; without it everything but the settings of storage, and of needle what every
    encoder has a value for (AUC and Preferred).
    """
    names = [list(each.figures()) for each in results]
    shared = [name for name in names[0] if all(name in other for other in names[1:])]
    unknown = [each for each in wanted if not any(each in (name, name.partition("/")[0]) for name in shared)]
    if unknown or not shared:
        raise InputError([Problem(f"figure {each!r}", f"is in none or not in all of the results; shared are "
                                  f"{', '.join(shared) or 'none'}") for each in unknown]
                         or Problem("compare", "the results share no figure: evaluate both with the same suites"))
    if wanted:
        return [name for name in shared if name in wanted or name.partition("/")[0] in wanted]
    usual = [name for name in shared if not name.startswith(("storage/", "needle/")) or name.startswith(NEEDLE)]
    return usual or shared


def compare(
    results: Sequence[Results], figures: Sequence[str], rng: np.random.Generator, resamples: int = RESAMPLES,
    level: float = LEVEL, every_pair: bool = False,
) -> pd.DataFrame:
    """One row per pair, figure and task, and one for the mean over tasks; the first is compared with every other.

    Interval: paired bootstrap of b - a over families; all rows of a pair share the families of a resample. p: exact
    sign test on discordant queries; p_holm: Holm over the tasks of the figure. One is better only where the interval
    excludes 0, p_holm <= 1 - level, both point the same way, and there are enough families to tell.
    """
    pairs = combinations(results, 2) if every_pair else ((results[0], other) for other in results[1:])
    rows = [row for a, b in pairs for row in _pair(a, b, figures, rng, resamples, level)]
    return pd.DataFrame(rows, columns=COLUMNS)


def flips(a: Results, b: Results, figure: str) -> pd.DataFrame:
    """The queries whose value differs, largest change first, with both values."""
    found = paired(a, b, figure).reset_index()
    found = found[found.difference != 0]
    order = np.lexsort((found["query"].astype(str), -found.difference.abs()))
    return found.iloc[order].reset_index(drop=True)


def _pair(
    a: Results, b: Results, figures: Sequence[str], rng: np.random.Generator, resamples: int, level: float,
) -> list[tuple]:
    tables = {(figure, task): part for figure in figures
              for task, part in paired(a, b, figure).groupby("task", sort=False)}
    differences = pd.DataFrame({place: part.difference for place, part in enumerate(tables.values())})
    means = resampled_means(differences.to_numpy(float), a.families().loc[differences.index].tolist(), rng, resamples)
    rows = []
    for figure in figures:
        at = [place for place, (name, _) in enumerate(tables) if name == figure]
        parts = {task: part for (name, task), part in tables.items() if name == figure}
        tests = [sign_test(part.difference.to_numpy()) for part in parts.values()]
        told = [_told(part, [part], means[:, [place]], level) for place, part in zip(at, parts.values(), strict=True)]
        labels, adjusted = list(parts), holm([test.p for test in tests])
        if len(parts) > 1:  # the mean over tasks is one test, with nothing to adjust for
            pooled = pd.concat(parts.values())
            tests.append(sign_test(pooled.difference.to_numpy()))
            told.append(_told(pooled, list(parts.values()), means[:, at], level))
            labels, adjusted = [*labels, ALL], [*adjusted, tests[-1].p]
        for task, test, p_holm, means_of in zip(labels, tests, adjusted, told, strict=True):
            value_a, value_b, low, high, families = means_of
            agreed = (low > 0 and test.wins > test.losses) or (high < 0 and test.losses > test.wins)
            real = agreed and p_holm <= 1 - level + 1e-12 and families >= FAMILIES
            verdict = f"{_better(a, b, figure, value_b - value_a)} better" if real else SAME
            rows.append((figure, task, a.encoder, b.encoder, value_a, value_b, value_b - value_a, low, high, test.wins,
                         test.losses, test.p, p_holm, families, verdict))
    return rows


def _told(
    pooled: pd.DataFrame, parts: Sequence[pd.DataFrame], means: np.ndarray, level: float,
) -> tuple[float, float, float, float, int]:
    """Both values as means over tasks, the interval of their difference (NaN for a single family, which no resampling
    varies), and the families that it stands on."""
    families = pooled.family.nunique()
    low, high = quantiles(means.mean(axis=1), level) if families > 1 else (np.nan, np.nan)
    value_a, value_b = (float(np.mean([part[name].mean() for part in parts])) for name in ("value_a", "value_b"))
    return value_a, value_b, low, high, families


def _better(a: Results, b: Results, figure: str, difference: float) -> str:
    less = figure.partition("/")[2].startswith(LESS_IS_BETTER)
    return b.encoder if (difference > 0) != less else a.encoder


def _refuse_other_corpora(a: Results, b: Results, of_a: set[str], of_b: set[str]) -> None:
    """The tasks that each has a figure for must be the same, on corpora of the same content."""
    held = [each.tasks.set_index("task").corpus_sha256 for each in (a, b)]
    problems = [Problem(f"task {task!r}", f"{a.encoder} was evaluated on the corpus {held[0][task][:12]}, {b.encoder} "
                        f"on {held[1][task][:12]}: compare like with like")
                for task in sorted(of_a & of_b) if held[0][task] != held[1][task]]
    problems += [Problem(f"task {task!r}", f"{one.encoder} has it, {other.encoder} has not: evaluate both on it")
                 for one, other, more in ((a, b, of_a - of_b), (b, a, of_b - of_a)) for task in sorted(more)]
    if problems:
        raise InputError(problems)


def _refuse_missing(a: Results, b: Results, figure: str, both: pd.DataFrame) -> None:
    """Says which queries one side has a value for and the other has not."""
    problems = []
    for one, other, name in ((a, b, "value_b"), (b, a, "value_a")):
        for task, part in both[both[name].isna()].groupby("task", sort=False):
            lacking = [query for _, query in part.index]
            shown = ", ".join(map(repr, lacking[:_SHOWN])) + (", ..." if len(lacking) > _SHOWN else "")
            problems.append(Problem(f"{figure} on task {task!r}", f"{other.encoder} has no value for {len(lacking)} "
                                    f"queries that {one.encoder} has: {shown}; evaluate both in the same way"))
    if problems:
        raise InputError(problems)
