"""The smallest gain that a dev split can tell from chance, measured on replicates of one setting.

Replicates differ by their seed alone, so every difference between them is noise. For a figure,
over R replicates whose dev queries ask for F families:

    s^2  the variance of the R means: what the seeds do
    b^2  the variance of the mean paired difference of two replicates over resamples of whole families
         (the bootstrap of `evaluators.significance`), the mean over all pairs: what the choice of queries does

The difference of two single trials has the variance V = 2 s^2 + b^2, and the smallest gain is
t * sqrt(V), t the 97.5% quantile of Student's t with the degrees of freedom of Welch and
Satterthwaite, V^2 / ((2 s^2)^2 / (R - 1) + b^4 / (F - 1)).

Sources: E. Miller, "Adding error bars to evals" (arXiv 2411.00640, 2024), sections 2.2 (clusters), 3.1 (variance
of resampled answers) and 4.2 (paired differences); F. Satterthwaite, "An approximate distribution of estimates of
variance components" (Biometrics Bulletin 2, 1946). s^2 holds a share of b^2 already (K. Jordan, arXiv 2304.01910,
tells them apart): the sum errs on the side of caution, by a factor of sqrt(2) at most, and is steady with three seeds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean, variance
from typing import Any

import numpy as np
import pandas as pd

from corpora.errors import InputError, Problem, StockpotError
from corpora.files import write_atomically
from evaluators.results import Results
from evaluators.significance import RESAMPLES, resampled_means
from sweeps.config import Objective
from sweeps.replicates import welch
from sweeps.soup.certify import HEADLINES

FILE = "noise.json"
_FORMAT = 1


@dataclass(frozen=True)
class FigureNoise:
    """mean, seed_sd, gain: in the figure's own unit; query_sd: of the difference of two replicates."""

    mean: float
    seed_sd: float
    query_sd: float
    families: int
    gain: float

    def beyond(self, figure: str) -> bool:
        """Whether no two trials can differ by the gain."""
        return in_points(figure, self.gain) > 100


@dataclass(frozen=True)
class Noise:
    """
    setting: the recipe that was repeated; step: its checkpoint; data: the dev split's hash; chunking: of the evaluation.
    figures: by `suite/metric`.
    """

    name: str
    setting: dict[str, Any]
    step: int
    replicates: int
    data: str
    chunking: str
    figures: dict[str, FigureNoise]

    def json(self) -> dict[str, Any]:
        return {"format": _FORMAT, **asdict(self)}

    def write(self, folder: Path) -> Path:
        path = Path(folder) / FILE
        write_atomically(path, json.dumps(self.json(), indent=1, ensure_ascii=False))
        return path

    def check(self, data: Mapping[str, str], chunking: str) -> None:
        """Refuses to speak of another dev split, or of figures that were measured in another way."""
        if self.data != data.get("dev"):
            raise InputError(Problem("--noise", f"was measured on another dev split ({self.data[:12]}, not "
                                     f"{data.get('dev', 'none')[:12]}): run `stockpot noise` on this sweep"))  # fmt: skip
        if self.chunking != chunking:
            raise InputError(Problem("--noise", f"was measured under evaluation.chunking {self.chunking}, the sweep has {chunking}"))

    def headlines(self, objectives: Sequence[Objective] = ()) -> dict[str, FigureNoise]:
        """One or two figures a suite, and those that the search follows."""
        wanted = dict.fromkeys([*(one.metric for one in objectives), *HEADLINES, "chunk-size/drop"])
        return {name: self.figures[name] for name in wanted if name in self.figures}

    def lines(self, objectives: Sequence[Objective] = ()) -> Iterator[str]:
        yield f"noise, from {self.replicates} replicates: the smallest gain that dev can tell from chance (two-sided, 95%)"
        for name, one in self.headlines(objectives).items():
            beyond = ", more than the figure can differ by: nothing can be told, take more replicates" if one.beyond(name) else ""
            yield f"  {name}: {in_points(name, one.gain):.1f} points{beyond}"


def read_noise(path: Path) -> Noise:
    """`path`: the file, or the folder that holds it."""
    file = Path(path) / FILE if Path(path).is_dir() else Path(path)
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if content.pop("format") != _FORMAT:
            raise ValueError("its format is not known")
        return Noise(**content | {"figures": {name: FigureNoise(**one) for name, one in content["figures"].items()}})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(Problem(str(file), f"holds no noise ({error}): `stockpot noise SWEEP.yaml` writes it")) from None


def noise_of(folder: Path) -> Noise | None:
    """What the sweep in `folder` carries, if anything."""
    return read_noise(folder) if (Path(folder) / FILE).is_file() else None


def in_points(figure: str, value: float) -> float:
    """Hundredths; what is a difference of percentages already stays."""
    return value if figure.endswith(("/drop", "/slope")) else 100 * value


def figure_noise(results: Sequence[Results], rng: np.random.Generator, resamples: int = RESAMPLES) -> dict[str, FigureNoise]:
    """By figure that all replicates' `results` have, over two families or more. All pairs share the resamples."""
    means = [one.figures() for one in results]
    shared = [name for name in means[0] if all(name in other for other in means)]
    families = results[0].families()
    pairs = list(combinations(range(len(results)), 2))
    found = {}
    for name in shared:
        values = [_values(one, name) for one in results]
        if any(one is None for one in values):
            continue
        table = pd.concat([values[b] - values[a] for a, b in pairs], axis=1).dropna()
        clusters = families.reindex(table.index)
        if clusters.nunique() < 2:
            continue
        drawn = resampled_means(_task_mean(table), clusters.tolist(), rng, resamples)
        seeds, queries = variance([one[name] for one in means]), float(np.nanvar(drawn, axis=0, ddof=1).mean())
        parts = [(2 * seeds, len(results) - 1), (queries, clusters.nunique() - 1)]
        _, gain, _ = welch(parts, 0.0)
        found[name] = FigureNoise(fmean(one[name] for one in means), seeds**0.5, queries**0.5, clusters.nunique(), gain)
    if not found:
        raise StockpotError("the dev split's queries ask for a single family: nothing can be said of its noise")
    return found


def _values(results: Results, figure: str) -> pd.Series | None:
    """None for what is no mean over queries."""
    try:
        return results.figure(figure)
    except InputError:
        return None


def _task_mean(table: pd.DataFrame) -> np.ndarray:
    """float64 [queries, columns], weighed so that the mean over queries is the mean over tasks of their means."""
    tasks = table.index.get_level_values("task")
    sizes = pd.Series(tasks).map(tasks.value_counts()).to_numpy()
    return table.to_numpy(float) * (len(table) / (tasks.nunique() * sizes))[:, None]
