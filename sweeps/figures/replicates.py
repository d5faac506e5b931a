"""Settings that were run more than once: every replicate, the mean, and whether it differs from the best."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluators.figures import COLOURS, MARKERS
from sweeps.figures.canvas import caption, new_axes, new_figure
from sweeps.ledger_state import LedgerState
from sweeps.replicates import BEST, TIED, UNKNOWN, WORSE, replicated
from sweeps.summary import first_objective

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

STYLES = {BEST: (COLOURS[0], MARKERS[0]), TIED: (COLOURS[5], MARKERS[1]), WORSE: (COLOURS[1], MARKERS[2]),
          UNKNOWN: (COLOURS[6], MARKERS[6])}  # fmt: skip
MOST = 30  # settings, the best


def replicate_dots(state: LedgerState, table: pd.DataFrame) -> Figure:
    """A row a setting, the best above; small marks are replicates, the large one their mean. `table`: `compared`."""
    settings, table = replicated(state)[:MOST], table.head(MOST)
    figure = new_figure(8.0, 1.6 + 0.36 * len(settings))
    axes = new_axes(figure, xlabel=first_objective(state)[0])
    for place, (each, verdict) in enumerate(zip(settings, table.verdict, strict=True)):
        colour, marker = STYLES[verdict]
        row = len(settings) - place
        axes.plot([min(each.values), max(each.values)], [row, row], color="0.6", linewidth=1, zorder=1)
        axes.scatter(each.values, [row] * len(each.values), s=18, facecolors="white", edgecolors="black", zorder=2)
        axes.scatter([each.mean], [row], s=70, color=colour, marker=marker, edgecolors="black", linewidths=0.6, zorder=3,
                     label=verdict if verdict not in set(table.verdict[:place]) else None)  # fmt: skip
    axes.set_yticks([len(settings) - place for place in range(len(settings))], [caption(each.label, 44) for each in settings])
    axes.set_ylim(0.4, len(settings) + 0.6)
    axes.legend(fontsize=8, ncols=4, loc="lower left", bbox_to_anchor=(0, 1), frameon=False)
    return figure
