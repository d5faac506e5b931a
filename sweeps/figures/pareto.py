"""The objectives against each other: every checkpoint, the front, what there is to beat, and what ships."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evaluators.figures import COLOURS, MARKERS
from sweeps.figures.canvas import caption, new_axes, new_figure
from sweeps.constraints import keeper
from sweeps.ledger_state import LedgerState
from sweeps.pareto import front
from sweeps.projected_model import shipped_model
from sweeps.summary import objectives

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

CHECKPOINT, BROKEN, BASELINE, SHIPS = "checkpoint", "breaks a constraint", "baseline", "what ships"
MARKS = {CHECKPOINT: (MARKERS[0], 28), BROKEN: (MARKERS[6], 28), BASELINE: (MARKERS[1], 60), SHIPS: ("*", 160)}
NAMED = 12  # points of the front that are named: more would hide each other
RING = {"facecolors": "none", "edgecolors": "black", "linewidths": 1.2, "s": 110}


def pareto_points(state: LedgerState) -> pd.DataFrame:
    """kind, label, front and a column an objective, for everything that has all objectives on dev.

    On the front is a checkpoint that keeps the constraints and that no other such dominates; those of failed trials are
    left out, as the soup leaves them.
    """
    import pandas as pd

    metrics, directions = zip(*objectives(state), strict=True)
    broken = keeper(state)
    found = [
        (BROKEN if broken(scores.figures) else CHECKPOINT, f"{trial.ordinal:03d} at {step}", scores.figures)
        for trial in state.trials.values()
        for step, checkpoint in sorted(trial.checkpoints.items())
        if trial.status != "failed" and (scores := checkpoint.scores.get("dev"))
    ]
    found += [(BASELINE, name, scores.figures) for (name, split), scores in state.baselines.items() if split == "dev"]
    if shipped := shipped_model(state):
        found.append((SHIPS, SHIPS, shipped["metrics"]))
    rows = [(kind, label, *(held[name] for name in metrics)) for kind, label, held in found if set(metrics) <= set(held)]
    points = pd.DataFrame(rows, columns=["kind", "label", *metrics])
    ours = points[points.kind == CHECKPOINT]
    points["front"] = points.index.isin(ours.index[front(ours[list(metrics)].to_numpy(float), directions)])
    return points


def pareto_front(state: LedgerState, points: pd.DataFrame) -> Figure:
    """The first objective up, each other across, a panel each; rings mark the front over all objectives."""
    (up, *across), directions = [name for name, _ in objectives(state)], dict(objectives(state))
    figure = new_figure(1.2 + 5.2 * len(across))
    for number, metric in enumerate(across):
        axes = new_axes(figure, 1, len(across), number + 1,
                        xlabel=_axis(metric, directions), ylabel=_axis(up, directions))  # fmt: skip
        for place, (kind, part) in enumerate(points.groupby("kind", sort=False)):
            marker, size = MARKS[kind]
            axes.scatter(part[metric], part[up], s=size, marker=marker, label=kind, color=COLOURS[place],
                         edgecolors="black", linewidths=0.5, zorder=2 + place)  # fmt: skip
        best = points[points.front].sort_values([metric, up])
        axes.scatter(best[metric], best[up], label="Pareto front", zorder=5, **RING)
        if len(across) == 1:
            axes.plot(best[metric], best[up], color="black", linewidth=0.8, linestyle=":", zorder=1)
        named = best.iloc[np.unique(np.linspace(0, len(best) - 1, NAMED).round().astype(int))] if len(best) else best
        for row in (*named.itertuples(), *points[points.kind == BASELINE].itertuples()):
            at = (points.at[row.Index, metric], points.at[row.Index, up])
            axes.annotate(caption(row.label, 32), at, xytext=(6, 4), textcoords="offset points", fontsize=7)
        if number == 0:
            axes.legend(fontsize=8)
    return figure


def _axis(metric: str, directions: dict[str, str]) -> str:
    return metric if directions[metric] == "maximize" else f"{metric} (less is better)"
