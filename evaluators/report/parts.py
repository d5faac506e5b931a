"""What a page is made of: sections with a few words, tables of ready strings, figures by file name."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Table:
    """`labels`: how many columns at the left are words; the rest are numbers and stand to the right."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: int = 1


@dataclass(frozen=True)
class Section:
    title: str
    text: str
    tables: Sequence[Table] = ()
    figures: dict[str, Figure] = field(default_factory=dict)

    @cached_property
    def images(self) -> dict[str, bytes]:
        """The figures as PNG, drawn once."""
        return {name: png(figure) for name, figure in self.figures.items()}


def table(caption: str, frame: pd.DataFrame, labels: int = 1) -> Table:
    """The frame as it stands, numbers in the form of `number`."""
    rows = tuple(tuple(map(number, row)) for row in frame.itertuples(index=False, name=None))
    return Table(caption, tuple(map(str, frame.columns)), rows, labels)


def wide(caption: str, columns: dict[str, pd.Series], corner: str) -> Table:
    """One column an encoder, over the union of their rows in the order in which they come up; what lacks is a dash."""
    names = list(dict.fromkeys(name for values in columns.values() for name in values.index))
    frame = pd.DataFrame({name: values.reindex(names).to_numpy() for name, values in columns.items()})
    frame.insert(0, corner, names, allow_duplicates=True)
    return table(caption, frame)


def number(value: object) -> str:
    """Counts whole, in groups of three; measures to four places; what was not measured as a dash."""
    if value is None or value is pd.NA or isinstance(value, float) and value != value:
        return "–"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, Integral) else str(value)


def png(figure: Figure) -> bytes:
    """The same bytes for the same figure: no date, no path in the file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()
