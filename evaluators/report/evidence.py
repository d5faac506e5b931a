"""What the figures of a report stand on: encoders, corpora, what was left out, ties, costs, and intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from evaluators.report import words
from evaluators.report.parts import Section, Table, table
from evaluators.results import Results
from evaluators.significance import quantiles, resampled_means

RESAMPLES = 2_000
"""Enough for the second digit of an interval that is read, not tested."""
LEFT_OUT = ("queries ", "lengths beyond", "tokens in no chunk")
SETTING = ["encoder", "task", "chunking"]


def evaluated(results: Sequence[Results]) -> Section:
    """Which encoders, on which corpora byte for byte, and what no figure counts."""
    counts = pd.concat([each.counts.astype(object).assign(encoder=each.encoder) for each in results], ignore_index=True)
    left_out, tied = counts.name.astype(str).str.startswith(LEFT_OUT), counts.name.astype(str).str.contains("ties")
    tables = [_encoders(results), _corpora(results),
              _counted("Left out of the figures that need them", counts[left_out], SETTING),
              _counted("Queries with equal scores at the cut, which ids had to break (full dimension)",
                       _full(counts[tied], results), [*SETTING, "precision"]),
              _counted("Costs (full dimension, float32)", _plain(counts[~left_out & ~tied], results), SETTING)]
    return Section("What was evaluated", words.EVALUATED, [each for each in tables if each.rows])


def headline(results: Sequence[Results]) -> Section:
    """Every headline figure with its interval, one column an encoder."""
    columns = {each.encoder: intervals(each) for each in results}
    names = list(dict.fromkeys(name for found in columns.values() for name in found))
    rows = tuple((name, *(_cell(found.get(name)) for found in columns.values())) for name in names)
    caption = f"Means; intervals from {RESAMPLES:,} resamples"
    return Section("Headline figures", words.HEADLINE, [Table(caption, ("figure", *columns), rows)] if rows else [])


def intervals(results: Results) -> dict[str, tuple[float, float, float]]:
    """Mean over tasks of each headline figure, and its interval; all figures share the families of a resample.

    NaN for a single family, which no resampling varies. Storage and needle have tables of their own.
    """
    found = {name: value for name, value in results.figures().items() if not name.startswith(("storage/", "needle/"))}
    families, told = results.families(), dict.fromkeys(found, (np.nan, np.nan))
    varied = [name for name in found if families.loc[results.figure(name).index].nunique() > 1]
    columns = {(name, task): part for name in varied for task, part in results.figure(name).groupby("task", sort=False)}
    if columns:
        values = pd.DataFrame({place: part for place, part in enumerate(columns.values())})
        family = families.loc[values.index].tolist()
        means = resampled_means(values.to_numpy(float), family, np.random.default_rng(0), RESAMPLES)
        for name in varied:
            at = [place for place, (of, _) in enumerate(columns) if of == name]
            told[name] = quantiles(means[:, at].mean(axis=1))
    return {name: (value, *told[name]) for name, value in found.items()}


def _encoders(results: Sequence[Results]) -> Table:
    rows = []
    for each in results:
        frame = each.per_query
        rows.append((each.encoder, str(each.dimension) if each.dimension else "no vectors", _listed(frame.precision),
                     _listed(frame.chunking), _listed(frame.suite)))
    return Table("Encoders", ("encoder", "full dimension", "precisions", "chunkings", "suites"), tuple(rows), labels=5)


def _corpora(results: Sequence[Results]) -> Table:
    frame = pd.concat([each.tasks for each in results], ignore_index=True).drop_duplicates(ignore_index=True)
    return table("Corpora", frame[["task", "domain", "split", "corpus_sha256", "documents", "queries"]], labels=4)


def _counted(caption: str, counts: pd.DataFrame, index: list[str]) -> Table:
    """One column a count; a count that several suites share stands once."""
    counts = counts.drop_duplicates([*index, "name"])
    if counts.empty:
        return Table(caption, (), ())
    wide = counts.set_index([*index, "name"])["value"].astype("Int64").unstack("name", sort=False)
    return table(caption, wide.reset_index(), labels=len(index))


def _full(counts: pd.DataFrame, results: Sequence[Results]) -> pd.DataFrame:
    return counts[counts.dimension == counts.encoder.map({each.encoder: each.dimension for each in results})]


def _plain(counts: pd.DataFrame, results: Sequence[Results]) -> pd.DataFrame:
    counts = _full(counts, results)
    return counts[counts.precision == "float32"]


def _listed(column: pd.Series) -> str:
    return ", ".join(dict.fromkeys(map(str, column.unique())))


def _cell(found: tuple[float, float, float] | None) -> str:
    if found is None:
        return "–"
    mean, low, high = found
    return f"{mean:.4f}" + (f" [{low:.4f}, {high:.4f}]" if np.isfinite([low, high]).all() else "")
