"""The figures that the sources show, each a function that returns a matplotlib `Figure`.

Colours are Okabe and Ito's, safe for the colour-blind; marker, line style and hatching say the same in black and white.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from corpora.chunkings import Chunking
from evaluators.compare import SAME
from evaluators.results import Results
from evaluators.suites.needle_figures import CHANCE, by_depth
from evaluators.suites.storage import frontier

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":")
FILLS = ("full", "none", "left", "top", "right", "bottom")
HATCHES = ("", "///", "...", "\\\\\\", "xxx", "+++", "ooo")


def chunk_size_curve(results: Sequence[Results]) -> Figure:
    """q2c nDCG@10 against chunk size in tokens, one line an encoder."""
    figure, axes = _axes("chunk size (tokens)", "nDCG@10, query to chunk")
    for place, each in enumerate(results):
        curve = sizes(each)
        axes.plot(curve.index, curve.to_numpy(), label=each.encoder, **_line(place))
    axes.set_xscale("log", base=2)
    ticks = sorted({size for each in results for size in sizes(each).index})
    axes.set_xticks(ticks, [str(size) for size in ticks])
    return _finished(figure, axes)


def storage_frontier(results: Sequence[Results]) -> Figure:
    """Mean nDCG@10 against bytes per vector, one line a precision; rings mark the Pareto front.

    Of several encoders each has its colour and marker, each precision its dashes.
    """
    figure, axes = _axes("bytes per vector", "nDCG@10, query to chunk", width=6.4 if len(results) == 1 else 8.6)
    precisions: list[str] = []
    for place, each in enumerate(results):
        table = frontier(each.rows())
        for precision, part in table.groupby("precision", observed=True, sort=False):
            part, dashes = part.sort_values("bytes"), _place(precision, precisions)
            if len(results) == 1:
                axes.plot(part.bytes, part["value"], label=precision, **_line(dashes))
            else:
                style = _line(place) | {"linestyle": DASHES[dashes % len(DASHES)]}
                axes.plot(part.bytes, part["value"], label=f"{each.encoder}, {precision}", **style)
        best = table[table.front]
        axes.scatter(best.bytes, best["value"], s=130, facecolors="none", edgecolors="black", linewidths=1.2, zorder=4,
                     label="Pareto front" if each is results[-1] else None)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    return _finished(figure, axes, beside=len(results) > 1)


def document_against_answer(points: pd.DataFrame, shade: str | None = None) -> Figure:
    """Document@1 against Answer@10. `points`: label, document, answer, optionally kind (one marker each) and a number
    `shade` (darker is larger)."""
    figure, axes = _axes("Document@1", "Answer@10")
    kinds = points["kind"] if "kind" in points else pd.Series("trial", points.index)
    for place, (kind, part) in enumerate(points.groupby(kinds, sort=False)):
        style = {"marker": MARKERS[place % len(MARKERS)], "s": 60, "edgecolors": "black", "linewidths": 0.6}
        values = part[shade].to_numpy(float) if shade else np.array([np.nan])
        if np.isfinite(values).all():
            drawn = axes.scatter(part.document, part.answer, c=values, cmap="cividis_r", label=kind, **style,
                                 vmin=points[shade].min(), vmax=points[shade].max())
            if place == 0:
                figure.colorbar(drawn, label=shade)
        else:
            axes.scatter(part.document, part.answer, color=COLOURS[place % len(COLOURS)], label=kind, **style)
    for row in points.itertuples():
        axes.annotate(str(row.label), (row.document, row.answer), xytext=(5, 4), textcoords="offset points", fontsize=7)
    return _finished(figure, axes)


def domain_bars(results: Sequence[Results], suite: str, metric: str = "nDCG@10") -> Figure:
    """One group of bars a domain (the mean of its tasks), or a task where no domain is given; and the mean of all."""
    columns = {each.encoder: each.domains(suite, metric).set_index("domain")["value"] for each in results}
    if all(len(domains) == 1 for domains in columns.values()):
        return task_bars(results, suite, metric)
    return _bars(columns, f"{metric}, {suite}")


def task_bars(results: Sequence[Results], suite: str, metric: str = "nDCG@10") -> Figure:
    """One group of bars a task, and the unweighted mean of all."""
    columns = {}
    for each in results:
        means = each.values(suite, metric).groupby("task", sort=False).mean()
        columns[each.encoder] = pd.concat([means, pd.Series({"all": means.mean()})])
    return _bars(columns, f"{metric}, {suite}")


def ability_bars(results: Sequence[Results], metric: str = "Answer@10") -> Figure:
    """One group of bars an ability, and all queries."""
    columns = {each.encoder: each.abilities(metric).set_index("ability")["value"] for each in results}
    return _bars(columns, metric)


def context_at_k(results: Sequence[Results]) -> Figure:
    """Document, Answer and EvidenceRecall against K: one line style a metric, one colour and filling an encoder."""
    figure, axes = _axes("K", "share of queries")
    ticks = set()
    for place, each in enumerate(results):
        names = [name.partition("/")[2].partition("@") for name in each.figures() if name.startswith("context/")]
        for style, metric in enumerate(("Document", "Answer", "EvidenceRecall")):
            cuts = sorted(int(cut) for name, _, cut in names if name == metric)
            if not cuts:
                continue
            ticks |= set(cuts)
            values = [each.values("context", f"{metric}@{cut}").mean() for cut in cuts]
            name = metric if len(results) == 1 else f"{each.encoder}, {metric}"
            axes.plot(cuts, values, label=name, color=COLOURS[place % len(COLOURS)], linestyle=DASHES[style],
                      marker=MARKERS[style], fillstyle=FILLS[place % len(FILLS)], markerfacecoloralt="white",
                      markeredgecolor="black", markeredgewidth=0.5)
    axes.set_xticks(sorted(ticks))
    axes.set_ylim(0, 1.02)
    return _finished(figure, axes)


def needle_curves(summaries: dict[str, pd.DataFrame], value: str = "Normalised") -> Figure:
    """One figure of `needle_figures.summary` against haystack length, one line an encoder and question; with what
    chance gives, dotted. Default order, not expanded. `value`: Normalised, Preferred or AUC."""
    figure, axes = _axes("haystack length (tokens)", value)
    place = 0
    for encoder, summary in summaries.items():
        plain = summary[(summary.order == "default") & ~summary.expanded]
        for question, part in plain.groupby("question", sort=False):
            axes.plot(part.length, part[value], label=f"{encoder}, {question}", **_line(place))
            if value == "Normalised":
                axes.plot(part.length, part.NormalisedChance, **_dotted(place))
            place += 1
    if value != "Normalised":
        axes.axhline(CHANCE[value], color="black", linestyle=":", linewidth=1, label="chance")
    lengths = sorted(set().union(*(set(summary.length) for summary in summaries.values())))
    axes.set_xscale("log", base=2)
    axes.set_xticks(lengths, [str(length) for length in lengths])
    return _finished(figure, axes)


def needle_depths(results: Sequence[Results]) -> Figure:
    """Normalised similarity against the needle's depth, one line an encoder and length; the twins' dotted."""
    figure, axes = _axes("depth of the needle (0 start, 1 end)", "Normalised")
    place = 0
    for each in results:
        for length, part in by_depth(each).groupby("length"):
            name = f"{length} tokens" if len(results) == 1 else f"{each.encoder}, {length} tokens"
            axes.plot(part.depth, part.Normalised, label=name, **_line(place))
            axes.plot(part.depth, part.NormalisedChance, **_dotted(place))
            place += 1
    return _finished(figure, axes)


def difference_forest(rows: pd.DataFrame) -> Figure:
    """Differences and their intervals, one line a figure and task; filled where one side is better. `rows`: of
    `compare.compare`, of one pair."""
    figure, axes = _axes(f"{rows.b.iloc[0]} - {rows.a.iloc[0]}", "", height=1.2 + 0.24 * len(rows))
    at = np.arange(len(rows))[::-1]
    told = (rows.verdict != SAME).to_numpy()
    axes.hlines(at, rows.low, rows.high, color=COLOURS[0], linewidth=1.6)
    for known, marker, face, label in ((~told, "o", "white", SAME), (told, "s", COLOURS[0], "one is better")):
        axes.scatter(rows.difference[known], at[known], s=36, marker=marker, zorder=3, edgecolors=COLOURS[0],
                     facecolors=face, label=label)
    axes.axvline(0, color="black", linewidth=1)
    several = rows.task.nunique() > 1
    labels = rows.figure + ", " + rows.task if several else rows.figure
    axes.set_yticks(at, labels.tolist(), fontsize=8)
    axes.set_ylim(-0.8, len(rows) - 0.2)
    return _finished(figure, axes)


def sizes(results: Results) -> pd.Series:
    """nDCG@10 by chunk size in tokens, mean over tasks, at full dimension and float32; empty without sizes."""
    found = {Chunking.parse(chunking).window: results.values("chunk-size", "nDCG@10", chunking=chunking)
             for chunking in results.per_query.chunking[results.per_query.suite == "chunk-size"].unique()
             if chunking.startswith("tokens:") and ".." not in chunking}
    means = {size: values.groupby("task").mean().mean() for size, values in sorted(found.items())}
    return pd.Series(means, dtype=float)


def _axes(x: str, y: str, width: float = 6.4, height: float = 4.2) -> tuple[Figure, Axes]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set(xlabel=x, ylabel=y)
    axes.grid(True, linewidth=0.4, alpha=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _line(place: int) -> dict[str, object]:
    return {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)],
            "linestyle": DASHES[place % len(DASHES)], "markeredgecolor": "black", "markeredgewidth": 0.5}


def _place(name: str, known: list[str]) -> int:
    """The same number for the same name, in the order in which they come up."""
    if name not in known:
        known.append(name)
    return known.index(name)


def _dotted(place: int) -> dict[str, object]:
    return {"color": COLOURS[place % len(COLOURS)], "linestyle": ":", "linewidth": 1}


def _bars(columns: dict[str, pd.Series], label: str) -> Figure:
    """Grouped bars: one column of values an encoder, over the union of their names."""
    names = list(dict.fromkeys(name for values in columns.values() for name in values.index))
    figure, axes = _axes("", label, width=max(6.4, 0.9 + 0.45 * len(names) * max(1, len(columns)) ** 0.7))
    width = 0.8 / len(columns)
    for place, (encoder, values) in enumerate(columns.items()):
        at = np.arange(len(names)) + (place - (len(columns) - 1) / 2) * width
        axes.bar(at, values.reindex(names).to_numpy(float), width, label=encoder, color=COLOURS[place % len(COLOURS)],
                 hatch=HATCHES[place % len(HATCHES)], edgecolor="black", linewidth=0.6)
    axes.set_ylim(bottom=0)
    axes.set_xticks(np.arange(len(names)), names, rotation=0 if len(names) < 5 else 35,
                    ha="center" if len(names) < 5 else "right")
    return _finished(figure, axes)


def _finished(figure: Figure, axes: Axes, beside: bool = False) -> Figure:
    """`beside`: the legend stands to the right, where many lines would leave it no room among them."""
    if len(axes.get_legend_handles_labels()[1]) > 1:
        axes.legend(fontsize=8, framealpha=0.9, **({"loc": "center left", "bbox_to_anchor": (1, 0.5)} if beside else {}))
    return figure
