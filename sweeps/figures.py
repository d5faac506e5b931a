"""Figures of a sweep: its own loss curves, and evaluators' figures of its best trials beside the baselines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evaluators import figures as drawn
from evaluators.results import Results
from sweeps.ledger_state import LedgerState, Trial
from sweeps.summary import ranked, trial_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SHOWN = 5  # the best trials get a colour and a name; in the loss curves the others stay grey
ACROSS, UP = "dev/context/Document@1", "dev/context/Answer@10"
_LOSS = re.compile(r"(.*/)?loss(/.*)?")


def sweep_figures(state: LedgerState, folder: Path) -> Iterator[tuple[str, Figure]]:
    """(file name, figure) of each figure that has something to show; `folder` is the sweep's."""
    if losses := loss_names(state):
        yield "loss-curves", loss_curves(state, losses)
    if len(points := trade_points(state)):
        yield "document-against-answer", drawn.document_against_answer(points, _shade(points))
    results = best_results(state, folder)
    have = [set(each.per_query.suite.unique()) for each in results]
    if sizes := [each for each, suites in zip(results, have) if "chunk-size" in suites]:
        yield "chunk-size", drawn.chunk_size_curve(sizes)
    if stored := [each for each, suites in zip(results, have) if "storage" in suites and each.dimension]:
        yield "storage", drawn.storage_frontier(stored[:1])


def loss_names(state: LedgerState) -> list[str]:
    """The losses that trials report, at most four: `loss` and its parts."""
    reports = (report for trial in state.trials.values() for report in trial.reports.values())
    return sorted({name for report in reports for name in report.metrics if _LOSS.fullmatch(name)})[:4]


def loss_curves(state: LedgerState, names: list[str]) -> Figure:
    """Each loss against optimiser steps, a panel a loss; the best trials in colour, each with its own marker."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(6.4, 4.2 * len(names)), 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    best = [trial for trial, _ in ranked(state)[:SHOWN]]
    others = [trial for trial in state.trials.values() if trial not in best]
    for number, name in enumerate(names):
        axes = figure.add_subplot(1, len(names), number + 1, xlabel="optimiser step", ylabel=name)
        axes.grid(True, linewidth=0.4, alpha=0.6)
        for trial in others:
            axes.plot(*_curve(trial, name), color="0.8", linewidth=1, zorder=1)
        for place, trial in enumerate(best):
            axes.plot(*_curve(trial, name), color=drawn.COLOURS[place], marker=drawn.MARKERS[place], markersize=4,
                      linestyle=drawn.DASHES[place % len(drawn.DASHES)], label=trial_name(trial))  # fmt: skip
        if number == 0 and best:
            axes.legend(fontsize=7)
    return figure


def trade_points(state: LedgerState) -> pd.DataFrame:
    """label, document, answer, kind (status), weight: each trial by its best checkpoint on dev; then the baselines."""
    import pandas as pd

    rows = []
    for trial, best in ranked(state):
        weight = trial.varied.get("weight")
        shade = float(weight) if isinstance(weight, (int, float)) else float("nan")
        rows.append((str(trial.ordinal), best.figures.get(ACROSS), best.figures.get(UP), trial.status, shade))
    for (name, _), scores in state.baselines.items():
        rows.append((name, scores.figures.get(ACROSS), scores.figures.get(UP), "baseline", float("nan")))
    columns = ["label", "document", "answer", "kind", "weight"]
    return pd.DataFrame(rows, columns=columns).dropna(subset=["document", "answer"])


def best_results(state: LedgerState, folder: Path) -> list[Results]:
    """Per-query results on dev of the best trials, then of the baselines, named; those whose file is gone are left out."""
    named = [(trial_name(trial), trial.checkpoints[best.step].scores["dev"]) for trial, best in ranked(state)[:SHOWN]]
    named += [(name, scores) for (name, split), scores in state.baselines.items() if split == "dev"]
    files = [(name, folder / scores.per_query) for name, scores in named if scores.per_query]
    return [replace(Results.from_parquet(file), encoder=name) for name, file in files if file.is_file()]


def _curve(trial: Trial, name: str) -> tuple[list[int], list[float]]:
    steps = [step for step in sorted(trial.reports) if name in trial.reports[step].metrics]
    return steps, [trial.reports[step].metrics[name] for step in steps]


def _shade(points: pd.DataFrame) -> str | None:
    """The loss weight darkens the points of a sweep that varies it."""
    return "weight" if points["weight"].nunique() > 1 else None
