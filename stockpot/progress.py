"""A sweep as it runs, read from its ledger: a live view on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from rich.console import Group
from rich.live import Live
from rich.text import Text

from stockpot.output import progress
from stockpot.view import clock, headline, state_line, view
from sweeps.lease import living_driver
from sweeps.snapshot import Follower
from sweeps.standing import Standing

REFRESH = 1.0  # seconds


class Progress:
    """Shows the sweep in `folder` while the `with` block runs; `say` adds what the driver is doing now."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._doing, self._told = "starting", ""
        self._begun = time.monotonic()
        self._over = threading.Event()
        self._follower: Follower | None = None
        self._live = Live(console=progress, auto_refresh=False, transient=True) if progress.is_terminal else None

    def say(self, what: str) -> None:
        self._doing = what
        if self._live is None:
            progress.print(f"{clock(self._begun)}  {what}", markup=False, soft_wrap=True)

    def __enter__(self) -> Progress:
        if self._live:
            self._live.start()
        self._thread = threading.Thread(target=self._watch, name="progress", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if self._live:
            self._live.stop()

    def _watch(self) -> None:
        while not self._over.wait(REFRESH):
            standing = self._standing()
            if self._live:
                doing = Text(f"{clock(self._begun)}  {self._doing}", style="dim")
                self._live.update(Group(view(standing, time.time()), doing) if standing else doing, refresh=True)
            elif standing is not None:
                line = headline(standing, time.time())
                if line != self._told:
                    self._told = line
                    progress.print(f"{clock(self._begun)}  {line}", markup=False, soft_wrap=True)

    def _standing(self) -> Standing | None:
        if self._follower is None:
            if not any((self.folder / "ledger" / "events").glob("[0-9]*.json")):
                return None
            self._follower = Follower(self.folder)
        return self._follower.standing()


def watch_sweep(folder: Path, follower: Follower) -> None:
    """The live view on stderr until the sweep ends, its driver is gone, or Ctrl-C."""
    told = ""
    try:
        with Live(console=progress, auto_refresh=False, transient=True) as live:
            while (standing := follower.standing()).status == "running" and living_driver(folder, time.time()):
                state, line = state_line(standing, folder, time.time()), headline(standing, time.time())
                if progress.is_terminal:
                    live.update(Group(Text(state), view(standing, time.time())), refresh=True)
                elif line != told:
                    told = line
                    progress.print(line, markup=False, soft_wrap=True)
                time.sleep(REFRESH)
    except KeyboardInterrupt:
        return
