"""Paired comparison of evaluations on the same queries: differences, intervals, sign tests, and what flipped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from corpora.errors import InputError, Problem
from evaluators.results import Results
from evaluators.significance import LEVEL, RESAMPLES, holm, paired_interval, sign_test

COLUMNS = ["figure", "task", "a", "b", "value_a", "value_b", "difference", "low", "high", "wins", "losses", "p",
           "p_holm", "verdict"]
SAME = "no difference"


def paired(a: Results, b: Results, figure: str) -> pd.DataFrame:
    """value_a, value_b, difference (b - a) and family by (task, query), where both were measured on the same corpora."""
    known = a.tasks.merge(b.tasks, on="task", suffixes=("_a", "_b"))
    changed = known[known.corpus_sha256_a != known.corpus_sha256_b]
    if len(changed) or known.empty:
        raise InputError([Problem(f"task {task!r}", "is another corpus in the second results: compare like with like")
                          for task in changed.task] or Problem("compare", "the results share no task"))
    both = pd.concat([a.figure(figure).rename("value_a"), b.figure(figure).rename("value_b")], axis=1, join="inner")
    both["difference"] = both.value_b - both.value_a
    return both.join(a.families())


def compare(
    results: Sequence[Results], figures: Sequence[str], rng: np.random.Generator, resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> pd.DataFrame:
    """One row per figure, task and other evaluation, against the first.

    Interval: paired bootstrap of b - a over families. p: sign test on discordant queries; p_holm: Holm over the tasks
    of the figure. A verdict is `better` or `worse` for b only where the interval excludes 0 and p_holm <= 1 - level.
    """
    first, rows = results[0], []
    for other in results[1:]:
        for figure in figures:
            found = list(paired(first, other, figure).groupby("task", sort=False))
            tests = [sign_test(part.difference.to_numpy()) for _, part in found]
            for (task, part), test, p_holm in zip(found, tests, holm([test.p for test in tests]), strict=True):
                interval = paired_interval(part.difference.to_numpy(), part.family.tolist(), rng, resamples, level)
                real = interval.excludes_zero and p_holm <= 1 - level + 1e-12
                verdict = ("better" if interval.mean > 0 else "worse") if real else SAME
                rows.append((figure, task, first.encoder, other.encoder, part.value_a.mean(), part.value_b.mean(),
                             interval.mean, interval.low, interval.high, test.wins, test.losses, test.p, p_holm, verdict))
    return pd.DataFrame(rows, columns=COLUMNS)


def flips(a: Results, b: Results, figure: str) -> pd.DataFrame:
    """The queries whose value differs, largest change first, with both values."""
    found = paired(a, b, figure).reset_index()
    found = found[found.difference != 0]
    order = np.lexsort((found["query"].astype(str), -found.difference.abs()))
    return found.iloc[order].reset_index(drop=True)
