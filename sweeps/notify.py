"""Webhooks of a sweep: a thread follows the ledger and posts what the YAML asks for.

It neither raises into the sweep nor waits for a dead server, and tells of the URL its host
only: whoever knows the rest can post there. The body is JSON that Slack, Mattermost and the
like show as it is (`text`), with fields for scripts beside it:

    text      "demo finished: 12 trials (9 finished, 3 stopped), best context/Answer@10 0.512 (trial 4, step 60)"
    event     started | finished | interrupted | failed | trial-failed
    sweep, sweep_id, folder, host
    status, reason                  of the sweep, or of the trial that failed
    trials                          {status: count}
    best                            {figure: {value, trial, step}} by objective
    trial                           the ordinal, of trial-failed
"""

from __future__ import annotations

import json
import os
import platform
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from corpora.errors import InputError, Problem
from sweeps.notify_config import ENVIRONMENT, Notify
from sweeps.snapshot import Follower
from sweeps.standing import Standing

INTERVAL = 2.0  # seconds between looks at the ledger
TIMEOUT = 10.0  # seconds a server may take to answer
WAITS = (1.0, 5.0, 25.0)  # seconds before each further try of a post
PATIENCE = 30.0  # seconds that the end of a sweep waits for its last posts


def url_of(notify: Notify) -> str | None:
    """The webhook's URL; InputError where it names a variable of the environment that is not set."""
    if notify.webhook is None or not notify.webhook.startswith(ENVIRONMENT):
        return notify.webhook
    name = notify.webhook.removeprefix(ENVIRONMENT)
    url = os.environ.get(name, "")
    if not url.startswith(("https://", "http://")):
        found = "is not set" if not url else "holds no http(s) URL"
        raise InputError(Problem("notify.webhook", f"the environment variable {name} {found}: export it, or take the webhook out"))
    return url


@contextmanager
def notified(folder: Path, notify: Notify, say: Callable[[str], None]) -> Iterator[None]:
    """Posts while the `with` block runs, and what its end has to tell; `say` is told once of a server that fails."""
    url = url_of(notify)
    if url is None:
        yield
        return
    herald = _Herald(folder, url, frozenset(notify.on), say)
    herald.start()
    try:
        yield
    finally:
        herald.close()


class _Herald(threading.Thread):
    def __init__(self, folder: Path, url: str, on: frozenset[str], say: Callable[[str], None]):
        super().__init__(name="webhook", daemon=True)
        self._folder, self._url, self._on, self._say = Path(folder), url, on, say
        self._follower = Follower(folder)
        standing = self._follower.standing()
        self._failed = {trial.ordinal for trial in standing.trials.values() if trial.status == "failed"}
        self._closing, self._given_up = threading.Event(), threading.Event()
        self._told = False

    def run(self) -> None:
        self._post("started")
        while not self._closing.wait(INTERVAL):
            self._look()
        self._look()
        status = self._follower.standing().status
        if status != "running":
            self._post(status)

    def close(self) -> None:
        self._closing.set()
        self.join(PATIENCE)
        self._given_up.set()

    def _look(self) -> None:
        for trial in self._follower.standing().trials.values():
            if trial.status == "failed" and trial.ordinal not in self._failed:
                self._failed.add(trial.ordinal)
                self._post("trial-failed", trial.ordinal)

    def _post(self, event: str, trial: int | None = None) -> None:
        if event not in self._on:
            return
        body = json.dumps(message(self._folder, self._follower.standing(), event, trial), ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "stockpot"}
        for wait in (*WAITS, None):
            try:
                request = urllib.request.Request(self._url, body, headers)
                with urllib.request.urlopen(request, timeout=TIMEOUT):
                    return
            except Exception as error:  # whatever a server, a proxy or a resolver may raise; its words may hold the URL
                reason = f"{type(error).__name__}{f' {error.code}' if hasattr(error, 'code') else ''}"
            if wait is None or self._given_up.wait(wait):
                break
        if not self._told:
            self._told = True
            self._say(f"the webhook on {urlsplit(self._url).hostname} did not take `{event}` ({reason}); the sweep goes on")


def message(folder: Path, standing: Standing, event: str, trial: int | None = None) -> dict[str, Any]:
    """The body of a post."""
    name, counts = standing.sweep["name"], dict(standing.counts())
    best = {}
    for place, (figure, _) in enumerate(standing.objectives):
        if found := standing.best(place):
            best[figure] = {"value": found.values[place], "trial": found.trial.ordinal, "step": found.step}
    status, reason = standing.status, standing.reason
    if trial is not None:
        status, reason = "failed", standing.trials[trial].reason
    what = f"{name}: trial {trial} failed" if trial is not None else f"{name} {event}"
    spread = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    text = f"{what}: {len(standing.trials)} trials ({spread})" if counts else what
    text += "".join(f", best {figure} {one['value']:.3f} (trial {one['trial']}, step {one['step']})" for figure, one in best.items())
    return {
        "text": text + (f": {reason[:300]}" if reason else ""),
        "event": event, "sweep": name, "sweep_id": standing.sweep["sweep_id"], "folder": str(folder), "host": platform.node(),
        "status": status, "reason": reason, "trials": counts, "best": best, "trial": trial,
    }  # fmt: skip
