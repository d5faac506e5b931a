"""Where words go: the result on stdout, progress and logs on stderr."""

from __future__ import annotations

import errno
import json
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

progress = Console(stderr=True, highlight=False)
"""Progress and logs."""


def say(line: str) -> None:
    """A line of progress as it is: brackets are no markup, and no word is cut."""
    progress.print(line, markup=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """One object on stdout, the contract for scripts; NaN is refused, for it is no JSON."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], emphasised: Sequence[int] = ()) -> None:
    """A table on stdout as wide as its content: a pipe or a file gets every column whole. Brackets are no markup."""
    table = Table(title=escape(title), title_justify="left", title_style="bold", header_style="bold")
    for number, column in enumerate(columns):
        table.add_column(escape(column), justify="left" if number < 2 else "right", no_wrap=True)
    for number, row in enumerate(rows):
        table.add_row(*map(escape, row), style="bold" if number in emphasised else None)
    console = Console(highlight=False)
    if not console.is_terminal:
        wide = Console(width=10_000)
        console.width = Measurement.get(wide, wide.options, table).maximum
    console.print(table)


def quiet() -> None:
    """Keeps libraries from filling the screen; errors still come through. Called before they are imported."""
    warnings.filterwarnings("ignore")
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    for name in ("ray", "alembic", "optuna", "transformers", "bm25s", "matplotlib"):
        logging.getLogger(name).setLevel(logging.ERROR)
    logging.getLogger("mlflow").setLevel(logging.CRITICAL)  # its errors reach us as exceptions, and are told in a line


def open_streams() -> None:
    """Makes the three streams fit to write on: one that the shell closed (`>&-`) goes nowhere, and no file gets its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        # A name with bytes that are no text, or a terminal that knows few characters, is no reason to fail.
        stream.reconfigure(errors="backslashreplace")


def plain_cause(error: OSError) -> str:
    """What the system refused, and at which file, safe to print."""
    if error.strerror is None:
        return plain(error)
    where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
    more = ": free some space, then run the command again" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
    return escape(f"{where}{error.strerror[:1].lower()}{error.strerror[1:]}{more}")


def plain(error: Exception) -> str:
    """An error's text, safe to print: brackets in it are no markup."""
    return escape(str(error))
