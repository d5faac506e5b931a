"""Figures of a sweep, read off the ledger's state: told apart by colour, marker and dash alike.

Okabe and Ito's colours; nothing is said by colour alone, so black-and-white prints stay readable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

from sweeps.ledger_state import LedgerState
from sweeps.summary import best_checkpoint, ranked, trial_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":")
STATUS_MARKERS = {"finished": "o", "stopped": "v", "failed": "X", "running": "D", "proposed": "D"}
SHOWN = 5  # trials that get a colour and a name; the others stay grey

_SIZE = re.compile(r"dev/chunk-size/nDCG@10\[tokens:([0-9]+)\]")
_STORED = re.compile(r"dev/storage/nDCG@10\[d=([0-9]+),(float32|int8|binary)\]")
_BITS = {"float32": 32, "int8": 8, "binary": 1}


def sweep_figures(state: LedgerState) -> Iterator[tuple[str, Figure]]:
    """(file name, figure) of each figure that has something to show."""
    makers = {
        "loss-curves": loss_curves,
        "document-against-answer": document_against_answer,
        "chunk-size": chunk_size_curve,
        "storage": storage_frontier,
    }
    for name, make in makers.items():
        if (figure := make(state)) is not None:
            yield name, figure


def loss_curves(state: LedgerState) -> Figure | None:
    """Each loss against optimiser steps, a panel a loss; the best trials in colour."""
    names = sorted({name for trial in state.trials.values() for report in trial.reports.values()
                    for name in report.metrics if re.search(r"(^|/)loss(/|$)", name)})[:4]  # fmt: skip
    if not names:
        return None
    figure, panels = _figure(len(names))
    order = [trial for trial, _ in ranked(state)][:SHOWN]
    others = [trial for trial in state.trials.values() if trial not in order]
    for panel, name in zip(panels, names):
        for trial in others:
            steps = [step for step in sorted(trial.reports) if name in trial.reports[step].metrics]
            panel.plot(steps, [trial.reports[step].metrics[name] for step in steps], color="0.75", linewidth=1, zorder=1)
        for trial, style in zip(order, _styles()):
            steps = [step for step in sorted(trial.reports) if name in trial.reports[step].metrics]
            panel.plot(steps, [trial.reports[step].metrics[name] for step in steps], **style, label=trial_name(trial))
        panel.set(xlabel="optimiser step", ylabel=name, title=name)
    _legend(panels[0])
    return figure


def document_against_answer(state: LedgerState) -> Figure | None:
    """The trade that a sweep moves along: every trial by its best checkpoint, baselines as stars."""
    across, up = "dev/context/Document@1", "dev/context/Answer@10"
    points = [(trial, best.figures) for trial, best in ranked(state) if {across, up} <= set(best.figures)]
    if not points:
        return None
    figure, (panel,) = _figure(1)
    seen = set()
    for number, (trial, figures) in enumerate(points):
        label = None if trial.status in seen else trial.status
        seen.add(trial.status)
        panel.plot(figures[across], figures[up], linestyle="", marker=STATUS_MARKERS[trial.status], label=label,
                   color=COLOURS[list(STATUS_MARKERS).index(trial.status)], markersize=8, zorder=3)  # fmt: skip
        panel.annotate(f"{trial.ordinal}", (figures[across], figures[up]), xytext=(5, 4), textcoords="offset points", fontsize=8)
    for (name, _), scores in sorted(state.baselines.items()):
        if {across, up} <= set(scores.figures):
            panel.plot(scores.figures[across], scores.figures[up], linestyle="", marker="*", markersize=12,
                       markerfacecolor="none", color="black")  # fmt: skip
            panel.annotate(name, (scores.figures[across], scores.figures[up]), xytext=(7, -9), textcoords="offset points", fontsize=8)
    front = _front([(figures[across], figures[up]) for _, figures in points])
    panel.step(*zip(*front), where="post", color="0.5", linestyle="--", linewidth=1, label="Pareto front", zorder=1)
    panel.set(xlabel="Document@1 on dev", ylabel="Answer@10 on dev", title="Document@1 against Answer@10, a point a trial")
    _legend(panel)
    return figure


def chunk_size_curve(state: LedgerState) -> Figure | None:
    """nDCG@10 to chunks against their size in tokens: the best trials and the baselines."""
    curves = {}
    for name, figures in _compared(state).items():
        sizes = {int(found[1]): value for key, value in figures.items() if (found := _SIZE.fullmatch(key))}
        if sizes:
            curves[name] = sorted(sizes.items())
    if not curves:
        return None
    figure, (panel,) = _figure(1)
    for (name, curve), style in zip(curves.items(), _styles()):
        panel.plot(*zip(*curve), **style, label=name)
    panel.set_xscale("log", base=2)
    ticks = sorted({size for curve in curves.values() for size, _ in curve})
    panel.set_xticks(ticks, [str(size) for size in ticks])
    panel.set(xlabel="tokens a chunk", ylabel="nDCG@10 on dev", title="Retrieval quality by chunk size")
    _legend(panel)
    return figure


def storage_frontier(state: LedgerState) -> Figure | None:
    """nDCG@10 against bytes a vector for each precision of the best trial, and which of them nothing dominates."""
    order = ranked(state)
    points = {}
    for key, value in order[0][1].figures.items() if order else ():
        if found := _STORED.fullmatch(key):
            dimension, precision = int(found[1]), found[2]
            points[dimension * _BITS[precision] / 8, value] = (dimension, precision)
    if not points:
        return None
    figure, (panel,) = _figure(1)
    for precision, style in zip(_BITS, _styles()):
        curve = sorted(point for point, (_, kind) in points.items() if kind == precision)
        if curve:
            panel.plot(*zip(*curve), **style, label=precision)
    for (size, value), (dimension, _) in points.items():
        panel.annotate(f"{dimension}", (size, value), xytext=(4, 5), textcoords="offset points", fontsize=8)
    front = sorted((-size, value) for size, value in _front([(-size, value) for size, value in points]))
    panel.plot([size for size, _ in front], [value for _, value in front], color="0.5", linestyle=":", label="Pareto front")
    panel.set_xscale("log", base=2)
    panel.set(xlabel="bytes a vector (numbers at the points: dimensions)", ylabel="nDCG@10 on dev",
              title=f"Quality against storage: {trial_name(order[0][0])}"[:80])  # fmt: skip
    _legend(panel)
    return figure


def _compared(state: LedgerState) -> dict[str, Mapping[str, float]]:
    """Dev figures of the baselines and of the best trials, by name."""
    baselines = {name: scores.figures for (name, split), scores in sorted(state.baselines.items()) if split == "dev"}
    return baselines | {trial_name(trial): best.figures for trial, best in ranked(state)[:SHOWN]}


def _front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other one beats in both coordinates, more being better, by the first coordinate."""
    front: list[tuple[float, float]] = []
    for point in sorted(points, reverse=True):
        if not front or point[1] > front[-1][1]:
            front.append(point)
    return front[::-1]


def _figure(panels: int) -> tuple[Figure, list[Axes]]:
    """A figure of its own canvas: no global state, so a background thread may draw."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(7.0, 4.5 * panels), 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = [figure.add_subplot(1, panels, number + 1) for number in range(panels)]
    for panel in axes:
        panel.grid(color="0.9")
        panel.set_axisbelow(True)
    return figure, axes


def _styles() -> Iterator[dict[str, object]]:
    for colour, marker, dash in zip(cycle(COLOURS), cycle(MARKERS), cycle(DASHES)):
        yield {"color": colour, "marker": marker, "linestyle": dash, "markersize": 5}


def _legend(panel: Axes) -> None:
    if panel.get_legend_handles_labels()[1]:
        panel.legend(fontsize=8)
