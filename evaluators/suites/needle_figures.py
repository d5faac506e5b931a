"""The figures of the needle suite, and what chance gives for each (NoLiMa-emb; DESIGN section 6)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from evaluators.results import Results

CHANCE = {"Preferred": 0.5, "AUC": 0.5, "Separation": 0.0, "CohensD": 0.0, "DepthCorrelation": 0.0, "DepthSlope": 0.0}
"""What an encoder that cannot see the needle gets; for `Normalised` it is measured on the twins: `NormalisedChance`."""
_AT_DEPTH = re.compile(r"(\w+)@(\d+)\[depth=([\d.]+)\]")


def figures(
    similarity: np.ndarray, twin: np.ndarray, reference: np.ndarray, lengths: Sequence[int], depths: Sequence[float],
) -> dict[str, np.ndarray]:
    """Name -> float64 [queries], NaN where a query has no value, at each length and, in brackets, each depth.

    similarity, twin: cos(question, haystack) and cos(question, the same filler without needle) float64 [queries,
    lengths, depths]; reference: cos(question, default needle) [queries].

    Normalised, NormalisedChance: similarity and twin over the reference, where that is above 0, mean over depths.
    Preferred: share of haystacks above their own twin, ties half. AUC: share of all pairs of a haystack and a twin in
    which the haystack is above, ties half. Separation: difference of the means; CohensD: over the pooled standard
    deviation. DepthCorrelation, DepthSlope: of the normalised similarity with depth.
    """
    above = np.where(reference > 0, reference, np.nan)[:, None, None]
    both = {"Normalised": similarity / above, "NormalisedChance": twin / above}
    each: dict[str, np.ndarray] = {name: value.mean(axis=2) for name, value in both.items()}
    each["Preferred"] = _above(similarity, twin).mean(axis=2)
    each["AUC"] = _above(similarity[:, :, :, None], twin[:, :, None, :]).mean(axis=(2, 3))
    each["Separation"] = similarity.mean(axis=2) - twin.mean(axis=2)
    if len(depths) > 1:
        pooled = np.sqrt((similarity.var(axis=2, ddof=1) + twin.var(axis=2, ddof=1)) / 2)
        each["CohensD"] = _quotient(each["Separation"], pooled)
        centred = np.asarray(depths, float) - np.mean(depths)
        spread = both["Normalised"] - each["Normalised"][:, :, None]
        product = (spread * centred).sum(axis=2)
        each["DepthSlope"] = _quotient(product, np.broadcast_to(centred @ centred, product.shape))
        each["DepthCorrelation"] = _quotient(product, np.sqrt((centred @ centred) * (spread**2).sum(axis=2)))
    found = {f"{name}@{length}": value[:, place] for name, value in each.items()
             for place, length in enumerate(lengths)}
    for name, value in both.items():
        for row, length in enumerate(lengths):
            found |= {f"{name}@{length}[depth={depth:g}]": value[:, row, place] for place, depth in enumerate(depths)}
    return found


def summary(results: Results, by: Sequence[str] = ("question", "order", "expanded")) -> pd.DataFrame:
    """One row per setting and length: `by`, length, every figure (mean over questions), and how many questions.

    `by`: of question (literal, one-hop), order (default, inverted), expanded, needle and category. At full dimension
    and float32, over all fillers.
    """
    frame = _readings(results)
    found = frame[frame.depth.isna()].pivot_table(index=[*by, "length"], columns="figure", values="value", sort=False)
    counted = frame[frame.figure == "AUC"].groupby([*by, "length"], sort=False).size().rename("questions")
    return found.join(counted).reset_index().rename_axis(columns=None)


def by_depth(results: Results) -> pd.DataFrame:
    """length, depth (0 the start, 1 the end), Normalised and NormalisedChance: means over all questions."""
    frame = _readings(results)
    found = frame[frame.depth.notna()].pivot_table(index=["length", "depth"], columns="figure", values="value")
    return found.reset_index().rename_axis(columns=None)


def _readings(results: Results) -> pd.DataFrame:
    """The suite's rows per query: figure, length, depth (NaN: over all), needle, question, order, expanded, category."""
    frame = results.per_query
    frame = frame[(frame.suite == "needle") & (frame.precision == "float32") & (frame.dimension == results.dimension)]
    names = {name: _AT_DEPTH.fullmatch(name) for name in frame.metric.unique()}
    split = {name: match.groups() if match else (*name.split("@"), np.nan) for name, match in names.items()}
    figure, length, depth = zip(*(split[name] for name in frame.metric), strict=True) if len(frame) else ((), (), ())
    parts = frame["query"].astype(str).str.rsplit("/", n=3, expand=True).reindex(columns=range(4))
    domain = results.queries.set_index(["task", "query"])["domain"]
    index = pd.MultiIndex.from_arrays([frame.task.astype(object), frame["query"].astype(object)])
    return pd.DataFrame({
        "figure": figure, "length": np.array(length, int), "depth": np.array(depth, float),
        "needle": parts[0].to_numpy(), "question": parts[1].to_numpy(), "order": parts[2].to_numpy(),
        "expanded": parts[3].to_numpy() == "expanded", "category": domain.reindex(index).to_numpy(),
        "value": frame["value"].to_numpy(),
    })


def _above(similarity: np.ndarray, twin: np.ndarray) -> np.ndarray:
    return (similarity > twin) + (similarity == twin) / 2


def _quotient(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
