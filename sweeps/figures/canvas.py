"""What every figure of a sweep begins with, and how a user's text appears in one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def new_figure(width: float = 6.4, height: float = 4.2) -> Figure:
    """An empty figure that belongs to no window, so that threads may draw."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def new_axes(figure: Figure, rows: int = 1, columns: int = 1, number: int = 1, **labels: Any) -> Axes:
    """A panel with a light grid behind what it shows. `labels`: xlabel, ylabel, title."""
    axes = figure.add_subplot(rows, columns, number, **{name: caption(text) for name, text in labels.items()})
    axes.grid(True, linewidth=0.4, alpha=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def caption(text: str, width: int = 60) -> str:
    """A user's text on one line, as it is: no formula between dollars, nothing that a legend hides, cut where too long."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    line = line if len(line) <= width else line[: width - 1] + "…"
    return (" " if line.startswith("_") else "") + line.replace("$", r"\$")
