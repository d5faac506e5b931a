"""The sections of a report: one a suite, as far as the results hold it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from evaluators import figures
from evaluators.codes import bytes_per_vector
from evaluators.report import words
from evaluators.report.evidence import evaluated, headline
from evaluators.report.parts import Section, Table, table, wide
from evaluators.results import Results
from evaluators.significance import paired_interval, sign_test
from evaluators.suites import WHOLE, needle_figures
from evaluators.suites.storage import frontier

NDCG = "nDCG@10"


def sections_of(results: Sequence[Results]) -> list[Section]:
    """What was evaluated, the headline figures, and a section for every suite that some results hold."""
    found = [section for section in (evaluated(results), headline(results)) if section.tables]
    for suite in dict.fromkeys([*SECTIONS, *(suite for each in results for suite in each.per_query.suite.unique())]):
        holding = [each for each in results if (each.per_query.suite == suite).any()]
        headline_of = [each for each in holding if any(name.startswith(f"{suite}/") for name in each.figures())]
        if suite in SECTIONS and headline_of:
            found.append(SECTIONS[suite](headline_of))
        elif holding:  # a suite unknown here, or measured at other precisions than float32 alone
            found.append(_other(holding, suite))
    return found


def _conteb(results: Sequence[Results]) -> Section:
    columns = _by_task(results, "conteb", NDCG)
    return Section("conteb: publishers' chunks", words.CONTEB, [wide("nDCG@10 by task", columns, "task")],
                   {"conteb-tasks": figures.task_bars(results, "conteb")})


def _domains(suite: str, title: str, text: str) -> Callable[[Sequence[Results]], Section]:
    def section(results: Sequence[Results]) -> Section:
        columns = {each.encoder: each.domains(suite).set_index("domain")["value"] for each in results}
        tables = [wide("nDCG@10 by domain (the mean of its tasks)", columns, "domain"),
                  wide("nDCG@10 by task", _by_task(results, suite, NDCG), "task")]
        if all(len(values) == 1 for values in columns.values()):  # no task has a domain
            tables = tables[1:]
        return Section(title, text, tables, {f"{suite}-domains": figures.domain_bars(results, suite)})

    return section


def _storage(results: Sequence[Results]) -> Section:
    found = pd.concat([frontier(each.rows()).assign(encoder=each.encoder) for each in results], ignore_index=True)
    if found.empty:
        return _other(results, "storage")
    found = found[["encoder", "precision", "dimension", "bytes", "value", "front"]]
    found.columns = ["encoder", "precision", "dimension", "bytes per vector", NDCG, "on the front"]
    return Section("Storage: quality against bytes per vector", words.STORAGE,
                   [table("Every dimension and precision, by bytes", found.astype({"bytes per vector": int, "on the front": bool}), labels=2)],
                   {"storage": figures.storage_frontier([each for each in results if each.dimension])})


def _chunk_size(results: Sequence[Results]) -> Section:
    columns = {}
    for each in results:
        held = _named(each, "chunk-size")
        columns[each.encoder] = held[[name.startswith((NDCG, "drop", "slope")) for name in held.index]]
    curves = [each for each in results if len(figures.sizes(each)) > 1]
    tests = pd.DataFrame([row for each in curves for row in _between_sizes(each)])
    return Section("Score against chunk size", words.CHUNK_SIZE,
                   [wide("nDCG@10, query to chunk", columns, "figure"),
                    *_tables_by_task({chunking: _by_task(curves, "chunk-size", NDCG, chunking) for chunking in _chunkings(curves)}),
                    *([table("Paired tests between sizes", tests, labels=2)] if len(tests) else [])],
                   {"chunk-size": figures.chunk_size_curve(curves)} if curves else {})


def _between_sizes(results: Results) -> list[dict[str, object]]:
    """Every size against the first: difference, its clustered interval, discordant queries and the exact sign test."""
    chunkings = _chunkings([results])
    held = {chunking: results.values("chunk-size", NDCG, chunking=chunking) for chunking in chunkings}
    rows = []
    for other in chunkings[1:]:
        difference = (held[other] - held[chunkings[0]]).dropna()
        family = results.families().reindex(difference.index).tolist()
        interval = paired_interval(difference.to_numpy(), family, np.random.default_rng(0))
        test = sign_test(difference.to_numpy())
        rows.append({"encoder": results.encoder, "sizes": f"{other} against {chunkings[0]}",
                     "difference": interval.mean, "low": interval.low, "high": interval.high,
                     "better": test.wins, "worse": test.losses, "p": test.p})
    return rows


def _context(results: Sequence[Results]) -> Section:
    columns = {each.encoder: _named(each, "context") for each in results}
    lucky = luck(results, [name for values in columns.values() for name in values.index])
    if len(lucky):
        columns["luck"] = lucky
    tables, drawn = [wide("Means over tasks", columns, "figure")], {"context": figures.context_at_k(results)}
    told = [metric for metric in ("Document@1", "Answer@10") if all(f"context/{metric}" in each.figures() for each in results)]
    tables += _tables_by_task({metric: _by_task(results, "context", metric) for metric in told})
    for metric in ("Document@1", "Answer@10", "EvidenceRecall@10"):
        able = [each for each in results if f"context/{metric}" in each.figures() and len(each.abilities(metric)) > 1]
        if able:
            shares = {each.encoder: each.abilities(metric).set_index("ability")["value"] for each in able}
            tables.append(wide(f"{metric} by ability", shares, "ability"))
            drawn |= {"abilities": figures.ability_bars(able)} if metric == "Answer@10" else {}
    return Section("Document, answer and evidence at K", words.CONTEXT, tables, drawn)


def luck(results: Sequence[Results], names: Sequence[str]) -> pd.Series:
    """What a random order finds of one target document, or of one answer chunk, at K: mean over tasks of K / size."""
    tasks = pd.concat([each.tasks for each in results]).drop_duplicates("task").set_index("task")
    chunks = {task: size for each in results for task, size in _index_sizes(each).items()}
    sizes = {"Document": tasks.documents.to_numpy(float),
             "Answer": np.array([chunks.get(task, np.nan) for task in tasks.index])}
    found = {}
    for name in dict.fromkeys(names):
        metric, _, k = name.partition("@")
        if metric in sizes and np.isfinite(sizes[metric]).all():
            found[name] = float(np.minimum(1, int(k) / sizes[metric]).mean())
    return pd.Series(found, dtype=float)


def _index_sizes(results: Results) -> dict[str, int]:
    """Chunks of each task's index under the context suite's chunking, read off the bytes that it takes."""
    counts = results.counts
    held = counts[(counts.suite == "context") & (counts.chunking != WHOLE) & (counts.name == "index bytes")]
    return {row.task: row.value // bytes_per_vector(row.dimension, row.precision) for row in held.itertuples()}


def _spans(results: Sequence[Results]) -> Section:
    columns = {each.encoder: _named(each, "spans") for each in results}
    return Section("Answer spans in what a reader gets", words.SPANS, [wide("Means over queries", columns, "figure")])


def _needle(results: Sequence[Results]) -> Section:
    summaries = {each.encoder: needle_figures.summary(each) for each in results}
    found = pd.concat([frame.assign(encoder=name) for name, frame in summaries.items()], ignore_index=True)
    chance = pd.DataFrame([{"encoder": "chance", **needle_figures.CHANCE}])
    order = ["encoder", "question", "order", "expanded", "length", "questions"]
    found = pd.concat([found, chance], ignore_index=True).astype({"length": "Int64", "questions": "Int64"})
    kinds = pd.concat([needle_figures.summary(each, ("category",)).assign(encoder=each.encoder) for each in results],
                      ignore_index=True)[["encoder", "category", "length", *needle_figures.CHANCE]]
    depths = pd.concat([needle_figures.by_depth(each).assign(encoder=each.encoder) for each in results],
                       ignore_index=True)[["encoder", "length", "depth", "Normalised", "NormalisedChance"]]
    drawn = {f"needle-{name.lower()}": figures.needle_curves(summaries, name)
             for name in ("Normalised", "Preferred", "AUC")}
    return Section("Needles: one sentence in a long text", words.NEEDLE,
                   [table("By question, order, expansion and length", found[
                       [*order, *(name for name in found.columns if name not in order)]], labels=4),
                    table("By semantic category, all questions", kinds, labels=2),
                    table("By depth of the needle (0 the start, 1 the end), all questions", depths)],
                   drawn | {"needle-depths": figures.needle_depths(results)})


def _other(results: Sequence[Results], suite: str) -> Section:
    """A suite that this page knows no figure for: its means as they are."""
    rows = pd.concat([each.rows().assign(encoder=each.encoder) for each in results], ignore_index=True)
    rows = rows[rows.suite == suite].astype({"task": str, "chunking": str, "precision": str, "metric": str})
    return Section(suite, "Means over queries.", [table("Every setting", rows[
        ["encoder", "task", "chunking", "precision", "metric", "dimension", "value", "queries"]], labels=5)])


def _named(results: Results, suite: str) -> pd.Series:
    """The suite's headline figures by their names without it."""
    found = {name.removeprefix(f"{suite}/"): value for name, value in results.figures().items()
             if name.startswith(f"{suite}/")}
    return pd.Series(found, dtype=float)


def _by_task(results: Sequence[Results], suite: str, metric: str, chunking: str | None = None) -> dict[str, pd.Series]:
    """Means by task, and of all tasks, per encoder."""
    found = {}
    for each in results:
        means = each.values(suite, metric, chunking=chunking).groupby("task", sort=False).mean()
        found[each.encoder] = pd.concat([means, pd.Series({"all": means.mean()})])
    return found


def _tables_by_task(found: dict[str, dict[str, pd.Series]]) -> list[Table]:
    """One table a measure, where there is more than one task: what a mean over corpora hides."""
    return [wide(f"{measure} by task", columns, "task") for measure, columns in found.items()
            if any(len(means) > 2 for means in columns.values())]


def _chunkings(results: Sequence[Results]) -> list[str]:
    """Those of the chunk-size suite that all of them have, by size."""
    sizes = [set(figures.sizes(each).index) for each in results]
    return [f"tokens:{size}" for size in sorted(set.intersection(*sizes))] if sizes else []


SECTIONS: dict[str, Callable[[Sequence[Results]], Section]] = {
    "conteb": _conteb,
    "q2c": _domains("q2c", "q2c: query to chunk", words.Q2C),
    "q2d": _domains("q2d", "q2d: query to document", words.Q2D),
    "storage": _storage,
    "chunk-size": _chunk_size,
    "context": _context,
    "spans": _spans,
    "needle": _needle,
}
