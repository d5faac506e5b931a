"""Replicates: trials that differ by their seed alone, and which settings they cannot tell apart.

Two settings are compared on the dev queries, each at the step where the mean over its
replicates is best. Their difference has two sources of noise: which queries dev happens to
hold (the paired bootstrap over families of `evaluators.significance`) and which seeds were
drawn (the spread between replicates). With variances v_q, s_a^2 / n_a and s_b^2 / n_b the
interval is the difference -+ t * sqrt(v_q + s_a^2 / n_a + s_b^2 / n_b), t with the degrees of
freedom of Welch and Satterthwaite; p is adjusted by Holm over the settings held against the best.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, variance
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.errors import InputError
from corpora.holm import holm
from evaluators.results import Results
from evaluators.significance import LEVEL, resampled_means
from sweeps.ledger_state import LedgerState, Trial
from sweeps.space import label
from sweeps.summary import first_objective

if TYPE_CHECKING:
    import pandas as pd

RESAMPLES = 2000
MOST = 50  # settings that are compared, the best: each is read query by query
BEST, TIED, WORSE, UNKNOWN = "best", "cannot be told from the best", "worse than the best", "not known"
COLUMNS = ["setting", "trials", "step", "replicates", "mean", "sd", "difference", "low", "high", "p", "verdict"]


@dataclass(frozen=True)
class Replicated:
    """A setting with two or more scored replicates. `values`: the first objective on dev of each, all at `step`."""

    label: str
    trials: tuple[Trial, ...]
    step: int
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return fmean(self.values)

    @property
    def noise(self) -> float:
        """Variance of the mean, from the seeds."""
        return variance(self.values) / len(self.values)


def setting_id(params: Mapping[str, Any]) -> str:
    """12 hexadecimal digits, equal for recipes that differ by their seed alone."""
    rest = {name: value for name, value in params.items() if name != "seed"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:12]


def replicated(state: LedgerState) -> list[Replicated]:
    """Settings with replicates, the best mean first; of equals the lower ordinal."""
    metric, direction = first_objective(state)
    sign = 1 if direction == "maximize" else -1
    groups: dict[str, list[Trial]] = {}
    for _, trial in sorted(state.trials.items()):
        groups.setdefault(setting_id(trial.params), []).append(trial)
    found = []
    for trials in groups.values():
        scored = [(trial, values) for trial in trials if (values := _by_step(trial, metric))]
        steps = sorted(set.intersection(*(set(values) for _, values in scored))) if len(scored) > 1 else ()
        if steps:
            step = max(steps, key=lambda step: sign * fmean(values[step] for _, values in scored))
            name = label({key: value for key, value in trials[0].varied.items() if key != "seed"})
            values = tuple(held[step] for _, held in scored)
            found.append(Replicated(name or "the same recipe", tuple(trial for trial, _ in scored), step, values))
    return sorted(found, key=lambda each: (-sign * each.mean, each.trials[0].ordinal))


def compared(state: LedgerState, folder: Path) -> pd.DataFrame:
    """The MOST best settings with replicates against the best of them, with a verdict; `folder` is the sweep's."""
    import pandas as pd

    settings = replicated(state)[:MOST]
    metric = first_objective(state)[0].removeprefix("dev/")
    queries = [_queries(each, folder, metric) for each in settings]
    tests = [_test(settings[0], each, queries[0], own) for each, own in zip(settings[1:], queries[1:], strict=True)]
    known = [place for place, test in enumerate(tests) if test]
    adjusted = dict(zip(known, holm([tests[place][3] for place in known]), strict=True))
    rows = []
    for place, each in enumerate(settings, -1):
        sd = math.sqrt(variance(each.values))
        ordinals = " ".join(str(trial.ordinal) for trial in each.trials)
        row = [each.label, ordinals, each.step, len(each.values), each.mean, sd]
        if place < 0:
            rows.append([*row, *4 * [math.nan], BEST])
        elif place in adjusted:
            difference, low, high, _ = tests[place]
            verdict = WORSE if adjusted[place] <= 1 - LEVEL + 1e-12 else TIED
            rows.append([*row, difference, low, high, adjusted[place], verdict])
        else:
            rows.append([*row, each.mean - settings[0].mean, *3 * [math.nan], UNKNOWN])
    return pd.DataFrame(rows, columns=COLUMNS)


def welch(parts: Sequence[tuple[float, float]], difference: float) -> tuple[float, float, float]:
    """(low, high, p) of a difference whose variance is the sum of `parts`, each (variance, degrees of freedom)."""
    from scipy.stats import t

    whole = sum(part for part, _ in parts)
    if whole == 0:
        return difference, difference, float(difference == 0)
    freedom = whole**2 / sum(part**2 / free for part, free in parts)
    error = math.sqrt(whole)
    half = float(t.ppf((1 + LEVEL) / 2, freedom)) * error
    return difference - half, difference + half, float(2 * t.sf(abs(difference) / error, freedom))


def _by_step(trial: Trial, metric: str) -> dict[int, float]:
    """Of the checkpoints that the setting alone led to."""
    scored = {step: one.scores["dev"].figures for step, one in trial.checkpoints.items() if "dev" in one.scores and step <= trial.own_until}
    return {step: figures[metric] for step, figures in scored.items() if metric in figures}


def _queries(each: Replicated, folder: Path, metric: str) -> tuple[pd.Series, pd.Series] | None:
    """The mean over replicates of each query's value, and its family; None where a file or the figure is gone."""
    files = [trial.checkpoints[each.step].scores["dev"].per_query for trial in each.trials]
    if not all(name and (folder / name).is_file() for name in files):
        return None
    results = [Results.from_parquet(folder / name) for name in files]
    try:
        values = [one.figure(metric) for one in results]
    except InputError:  # what is no mean over queries, such as a slope
        return None
    return sum(values[1:], start=values[0]) / len(values), results[0].families()


def _test(best: Replicated, other: Replicated, ours: Any, theirs: Any) -> tuple[float, float, float, float] | None:
    """(difference of the means, low, high, p) of `other` against `best`."""
    if ours is None or theirs is None:
        return None
    gains = (theirs[0] - ours[0]).dropna()
    families = ours[1].reindex(gains.index)
    # A figure is the mean over tasks of means over queries: queries of small tasks weigh more.
    sizes = gains.groupby("task").transform("size")
    weighted = gains * len(gains) / (sizes * gains.index.get_level_values("task").nunique())
    means = resampled_means(weighted.to_numpy()[:, None], families.tolist(), np.random.default_rng(0), RESAMPLES)
    parts = [(float(np.nanvar(means)), max(1, families.nunique() - 1))]
    parts += [(each.noise, len(each.values) - 1) for each in (best, other)]
    difference = other.mean - best.mean
    return difference, *welch(parts, difference)
