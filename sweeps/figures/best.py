"""The best trials of a sweep: what they lost on the way, how they trade, what each query gave."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evaluators.figures import COLOURS, DASHES, MARKERS
from evaluators.results import Results
from sweeps.figures.canvas import caption, new_axes, new_figure
from sweeps.ledger_state import LedgerState, Trial
from sweeps.summary import ranked, trial_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SHOWN = 5  # the best trials get a colour and a name; in the loss curves the others stay grey
ACROSS, UP = "dev/context/Document@1", "dev/context/Answer@10"
_LOSS = re.compile(r"(.*/)?loss(/.*)?")


def loss_names(state: LedgerState) -> list[str]:
    """The losses that trials report, at most four: `loss` and its parts."""
    reports = (report for trial in state.trials.values() for report in trial.reports.values())
    return sorted({name for report in reports for name in report.metrics if _LOSS.fullmatch(name)})[:4]


def loss_curves(state: LedgerState, names: list[str]) -> Figure:
    """Each loss against optimiser steps, a panel a loss; the best trials in colour, each with its own marker."""
    figure = new_figure(max(6.4, 4.2 * len(names)))
    best = [trial for trial, _ in ranked(state)[:SHOWN]]
    shown = {trial.ordinal for trial in best}
    others = [trial for trial in state.trials.values() if trial.ordinal not in shown]
    for number, name in enumerate(names):
        axes = new_axes(figure, 1, len(names), number + 1, xlabel="optimiser step", ylabel=name)
        for trial in others:
            axes.plot(*_curve(trial, name), color="0.8", linewidth=1, zorder=1)
        for place, trial in enumerate(best):
            axes.plot(*_curve(trial, name), color=COLOURS[place], marker=MARKERS[place], markersize=4,
                      linestyle=DASHES[place % len(DASHES)], label=caption(trial_name(trial)))  # fmt: skip
        if number == 0 and best:
            axes.legend(fontsize=7)
    return figure


def trade_points(state: LedgerState) -> pd.DataFrame:
    """label, document, answer, kind (status), weight: each trial by its best checkpoint on dev; then the baselines."""
    import pandas as pd

    rows = []
    for trial, best in ranked(state):
        weight = trial.varied_at(best.step).get("weight")
        shade = float(weight) if isinstance(weight, (int, float)) else float("nan")
        rows.append((str(trial.ordinal), best.figures.get(ACROSS), best.figures.get(UP), trial.status, shade))
    for (name, split), scores in state.baselines.items():
        if split == "dev":
            rows.append((caption(name), scores.figures.get(ACROSS), scores.figures.get(UP), "baseline", float("nan")))
    columns = ["label", "document", "answer", "kind", "weight"]
    return pd.DataFrame(rows, columns=columns).dropna(subset=["document", "answer"])


def shade_of(points: pd.DataFrame) -> str | None:
    """The loss weight darkens the points of a sweep that varies it."""
    return "weight" if points["weight"].nunique() > 1 else None


def best_results(state: LedgerState, folder: Path) -> list[Results]:
    """Per-query results on dev of the best trials, then of the baselines, named; those whose file is gone are left out."""
    named = [(trial_name(trial), trial.checkpoints[best.step].scores["dev"]) for trial, best in ranked(state)[:SHOWN]]
    named += [(name, scores) for (name, split), scores in state.baselines.items() if split == "dev"]
    files = [(name, folder / scores.per_query) for name, scores in named if scores.per_query]
    return [replace(Results.from_parquet(file), encoder=caption(name)) for name, file in files if file.is_file()]


def _curve(trial: Trial, name: str) -> tuple[list[int], list[float]]:
    steps = [step for step in sorted(trial.reports) if name in trial.reports[step].metrics]
    return steps, [trial.reports[step].metrics[name] for step in steps]
