"""How far an evaluation's encoding is: a bar on a terminal, a line now and then elsewhere; on stderr."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from stockpot.output import progress

EVERY = 30.0  # seconds between two lines where there is no terminal


class EncodingProgress:
    """`say` names what is encoded next; `watch` (`evaluators.encoder.Watch`) hears tokens read, and of how many."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock, self._told, self._what = clock, clock(), ""
        share = TextColumn("{task.percentage:.0f}%")
        columns = TextColumn("{task.description}", markup=False), BarColumn(), share, TimeRemainingColumn()
        self._bar = Progress(*columns, console=progress, transient=True) if progress.is_terminal else None
        self._task = self._bar.add_task("") if self._bar else None

    def say(self, what: str) -> None:
        self._what = what
        if self._bar:
            self._bar.reset(self._task, description=what)
        else:
            self._print(what)

    def watch(self, read: int, whole: int) -> None:
        if self._bar:
            self._bar.update(self._task, completed=read, total=whole)
        elif self._clock() - self._told >= EVERY and read < whole:
            self._print(f"{self._what}: {100 * read // max(whole, 1)}% of {whole:,} tokens")

    def __enter__(self) -> EncodingProgress:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar:
            self._bar.stop()

    def _print(self, line: str) -> None:
        self._told = self._clock()
        progress.print(line, markup=False, soft_wrap=True)
