"""When each trial ran and was evaluated, over the slots of the sweep."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from evaluators.figures import COLOURS
from sweeps.figures.canvas import new_axes, new_figure
from sweeps.ledger_state import LedgerState
from sweeps.status import trial_status

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES = {
    "finished": (COLOURS[0], ""), "stopped": (COLOURS[4], "///"), "failed": (COLOURS[1], "xxx"),
    "running": (COLOURS[5], "..."), "interrupted": (COLOURS[3], "\\\\\\"), "evaluation": ("0.75", ""),
}  # fmt: skip
NUMBERED = 0.015  # of the whole length: narrower bars have no room for a number
UNITS = ((3 * 86400, 86400, "days"), (3 * 3600, 3600, "hours"), (300, 60, "minutes"), (0, 1, "seconds"))


class Bar(NamedTuple):
    began: float  # seconds since 1970
    ended: float
    kind: str
    name: str


def trial_bars(state: LedgerState) -> list[Bar]:
    """One a trial that was started, in the order of starting; one that still runs ends with the newest event."""
    bars = [
        Bar(trial.started, state.updated if trial.ended is None else trial.ended, _kind(state, trial), str(ordinal))
        for ordinal, trial in state.trials.items()
        if trial.started is not None
    ]
    return sorted(bars)


def evaluation_bars(state: LedgerState) -> list[Bar]:
    """One an evaluation of a checkpoint, as long as it took; without a known length, a moment."""
    bars = [
        Bar(scores.time - (scores.seconds or 0.0), scores.time, "evaluation", "")
        for trial in state.trials.values()
        for checkpoint in trial.checkpoints.values()
        for scores in checkpoint.scores.values()
    ]
    return sorted(bars)


def lanes(bars: Sequence[Bar]) -> list[int]:
    """The lowest lane that is free when each bar begins; `bars` in the order of their beginnings."""
    busy: list[tuple[float, int]] = []  # (until, lane)
    free: list[int] = []
    found = []
    for bar in bars:
        while busy and busy[0][0] <= bar.began:
            heapq.heappush(free, heapq.heappop(busy)[1])
        lane = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (bar.ended, lane))
        found.append(lane)
    return found


def timeline(state: LedgerState) -> Figure:
    """Bars of trials by slot above, of evaluations below; a cross where a worker was lost and the trial went on."""
    trials, evaluations = trial_bars(state), evaluation_bars(state)
    slots, below = lanes(trials), lanes(evaluations)
    began = min(bar.began for bar in (*trials, *evaluations))
    length = max(max(bar.ended for bar in (*trials, *evaluations)) - began, 1e-9)
    _, scale, unit = next(one for one in UNITS if length >= one[0])
    rows = max(slots, default=-1) + 1
    figure = new_figure(9.6, min(12.0, 1.8 + 0.34 * rows + 0.22 * (max(below, default=-1) + 1)))
    axes = new_axes(figure, xlabel=f"{unit} since the first start")
    at = {bar.name: rows - slot for bar, slot in zip(trials, slots, strict=True)}
    _draw(axes, [(bar, at[bar.name], 0.8) for bar in trials], began, scale, length)
    _draw(axes, [(bar, -0.5 * lane - 0.25, 0.4) for bar, lane in zip(evaluations, below, strict=True)], began, scale, length)
    for bar in trials:
        if bar.ended - bar.began >= NUMBERED * length:
            axes.text((bar.began + bar.ended - 2 * began) / 2 / scale, at[bar.name], bar.name, fontsize=7, ha="center",
                      va="center", bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5})  # fmt: skip
    lost = [(moment, at[str(o)]) for o, trial in state.trials.items() if str(o) in at for moment in trial.retried]
    if lost:
        axes.scatter([(moment - began) / scale for moment, _ in lost], [row for _, row in lost], marker="X", s=60,
                     color="black", edgecolors="white", zorder=5, label="worker lost, trial went on")  # fmt: skip
    axes.set_yticks([rows - slot for slot in range(rows)] + ([-0.25] if evaluations else []),
                    [f"slot {slot + 1}" for slot in range(rows)] + (["evaluations"] if evaluations else []))  # fmt: skip
    axes.grid(False, axis="y")
    axes.legend(fontsize=8, ncols=6, loc="lower left", bbox_to_anchor=(0, 1), frameon=False)
    return figure


def _draw(axes: Axes, bars: list[tuple[Bar, float, float]], began: float, scale: float, length: float) -> None:
    """Bars at their height and of their thickness, a legend entry a kind; a moment is as thin as can be seen."""
    for kind in STYLES:
        chosen = [one for one in bars if one[0].kind == kind]
        if chosen:
            colour, hatch = STYLES[kind]
            widths = [max(bar.ended - bar.began, 0.0015 * length) / scale for bar, _, _ in chosen]
            axes.barh([row for _, row, _ in chosen], widths, [thick for _, _, thick in chosen],
                      [(bar.began - began) / scale for bar, _, _ in chosen], label=kind, color=colour, hatch=hatch,
                      edgecolor="black", linewidth=0.5)  # fmt: skip


def _kind(state: LedgerState, trial) -> str:
    status = trial_status(trial, state.status)
    return "running" if status == "proposed" else status
