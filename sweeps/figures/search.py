"""What the search varied, against what it found: parallel coordinates and the importance of each field."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.wording import short
from evaluators.figures import COLOURS, HATCHES
from sweeps.figures.best import SHOWN
from sweeps.figures.canvas import caption, new_axes, new_figure
from sweeps.importance import best_share, is_scale, spans_magnitudes, text_of
from sweeps.ledger_state import LedgerState
from sweeps.summary import first_objective, ranked

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MOST_FIELDS = 10  # axes side by side
ABSENT = -0.12  # where a trial stands on the axis of a field that it does not have
TICKS = 5
MOST_NAMED = 12  # values of a choice that are all named on its axis


def varied_fields(state: LedgerState) -> list[str]:
    """Fields that take more than one value among the trials with scores."""
    tried = [trial.varied_at(best.step) for trial, best in ranked(state)]
    names = dict.fromkeys(name for varied in tried for name in varied)
    held = {name: {text_of(varied[name]) for varied in tried if name in varied} for name in names}
    return [name for name in names if len(held[name]) > 1][:MOST_FIELDS]


def parallel_coordinates(state: LedgerState, fields: list[str]) -> Figure:
    """A line a trial over an axis a field; darker is better by the first objective, the best are thick and named."""
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection
    from matplotlib.colors import Normalize

    metric, direction = first_objective(state)
    order = ranked(state)
    results = [best.value for _, best in order]
    columns = [[trial.varied_at(best.step).get(name) for trial, best in order] for name in fields] + [results]
    scales = [_scale(values) for values in columns]
    figure = new_figure(max(6.4, 1.7 * len(columns) + 1.5), 4.6)
    axes = new_axes(figure)
    axes.grid(False)
    lines = [[(x, at[row]) for x, (at, _) in enumerate(scales)] for row in range(len(order))][::-1]  # the best on top
    colours = colormaps["cividis_r" if direction == "maximize" else "cividis"]
    norm = Normalize(min(results), max(results))
    widths = [2.6 if row < SHOWN else 0.9 for row in range(len(order))][::-1]
    drawn = LineCollection(lines, array=np.array(results[::-1]), cmap=colours, norm=norm, linewidths=widths, alpha=0.9)
    axes.add_collection(drawn)
    for x, (_, ticks) in enumerate(scales):
        axes.axvline(x, color="black", linewidth=0.8, zorder=0)
        for at, text in ticks:
            axes.annotate(caption(text, 22), (x, at), xytext=(3, 2), textcoords="offset points", fontsize=7,
                          bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.5}, zorder=6)  # fmt: skip
    for place, (trial, _) in enumerate(order[:SHOWN]):
        axes.annotate(f"{trial.ordinal:03d}", (len(fields), scales[-1][0][place]), xytext=(34, -2 - 7 * place),
                      textcoords="offset points", fontsize=7, fontweight="bold", annotation_clip=False)  # fmt: skip
    axes.set_xticks(range(len(columns)), [*(caption(name, 22) for name in fields), caption(metric, 32)],
                    rotation=20, ha="right")  # fmt: skip
    axes.set(xlim=(-0.15, len(columns) - 0.55), ylim=(ABSENT - 0.06, 1.08), yticks=[])
    axes.spines[["left", "bottom"]].set_visible(False)
    figure.colorbar(drawn, ax=axes, label=caption(metric), pad=0.02)
    return figure


def importance_bars(shares: pd.DataFrame, trials: int) -> Figure:
    """A group of bars a field, a bar an objective; `shares` as `importance` gives them."""
    shares = shares.loc[shares.mean(axis=1).sort_values().index]
    figure = new_figure(6.4, max(2.6, 1.4 + 0.32 * shares.size))
    axes = new_axes(figure, xlabel=f"importance: what sets the best {100 * best_share(trials):.0f}% of {trials} trials apart")
    thick = 0.8 / shares.shape[1]
    for place, metric in enumerate(shares):
        rows = np.arange(len(shares)) - (place - (shares.shape[1] - 1) / 2) * thick
        axes.barh(rows, shares[metric].fillna(0), thick, label=caption(metric), color=COLOURS[place % len(COLOURS)],
                  hatch=HATCHES[place % len(HATCHES)], edgecolor="black", linewidth=0.6)  # fmt: skip
    axes.set_yticks(range(len(shares)), [caption(name, 32) for name in shares.index])
    axes.legend(fontsize=8, loc="lower right")
    return figure


def _scale(values: list[Any]) -> tuple[list[float], list[tuple[float, str]]]:
    """Heights from 0 to 1 of the values on their axis, and its ticks; None stands under the axis."""
    held = [value for value in values if value is not None]
    if is_scale(held) or all(isinstance(value, float) for value in held):
        turn = math.log if spans_magnitudes(held) else float
        low, high = turn(min(held)), turn(max(held))
        span = (high - low) or 1.0
        heights = [ABSENT if value is None else (turn(value) - low) / span for value in values]
        back = math.exp if turn is math.log else float
        ticks = [(n / (TICKS - 1), short(float(back(low + span * n / (TICKS - 1))))) for n in range(TICKS)]
    else:
        numbers = all(isinstance(value, (int, float)) for value in held)
        by_text = {text_of(value): value for value in held}
        texts = sorted(by_text, key=(lambda text: by_text[text]) if numbers else None)
        step = 1 / max(1, len(texts) - 1)
        place = {text: number * step for number, text in enumerate(texts)}
        heights = [ABSENT if value is None else place[text_of(value)] for value in values]
        every = -(-len(texts) // MOST_NAMED)
        ticks = [(at, short(by_text[text])) for number, (text, at) in enumerate(place.items()) if number % every == 0]
    return heights, ticks + ([(ABSENT, "–")] if None in values else [])
