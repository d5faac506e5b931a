"""A sweep's standing without reading its whole ledger: the driver's snapshot, and the events after it.

    ledger/snapshot.json    a line with the SHA-256 of the rest; then the standing as JSON, and
                            how many event files of each writer it has folded

Never the truth: a snapshot that is missing, damaged, of another version or of another sweep is
left aside, and the standing is folded from the events alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from corpora.errors import StockpotError
from corpora.files import write_atomically
from sweeps.collector import collector_paused
from sweeps.folding import UNFIT, Contradiction, check_form
from sweeps.ledger_files import EventFiles, no_sweep
from sweeps.standing import Standing, TrialStanding

FORMAT = 1
EVERY = 2048  # event files between two snapshots
_FIELDS = [field.name for field in fields(TrialStanding)]


class Follower:
    """Reads how the sweep in `folder` stands, again and again at the cost of what is new."""

    def __init__(self, folder: Path):
        self._folder = Path(folder) / "ledger"
        held = read_snapshot(self._folder)
        self._standing, read = held or (Standing(), {})
        self._files = EventFiles(self._folder, read)
        if not self.standing().sweep:
            raise no_sweep(folder)

    def standing(self) -> Standing:
        """How the sweep stands by now. Treat it as read-only: it is updated in place."""
        with collector_paused():
            for path, events in self._files.new():
                try:
                    for event in events:
                        check_form(event)
                        self._standing.fold(event)
                except Contradiction as error:
                    raise StockpotError(f"{path}: {error}") from None
                except UNFIT as error:
                    raise StockpotError(f"{path}: an event lacks what its kind needs: {error!r}") from None
        return self._standing


def write_snapshot(ledger: Path, standing: Standing, read: Mapping[str, int]) -> None:
    """`ledger`: the folder; `read`: how many event files of each writer `standing` holds."""
    head = {name: getattr(standing, name) for name in _HEAD}
    rows = [[getattr(trial, name) for name in _FIELDS] for trial in standing.trials.values()]
    content = {"format": FORMAT, "fields": _FIELDS, "read": dict(read), "head": head, "trials": rows}
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    write_atomically(ledger / "snapshot.json", hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


def read_snapshot(ledger: Path) -> tuple[Standing, dict[str, int]] | None:
    """The snapshot of this very ledger, and the event files it stands for; None where there is none to trust."""
    try:
        checksum, _, body = (ledger / "snapshot.json").read_bytes().partition(b"\n")
    except OSError:
        return None
    if hashlib.sha256(body).hexdigest().encode() != checksum:
        return None
    content = json.loads(body)
    if (content["format"], content["fields"], list(content["head"])) != (FORMAT, _FIELDS, _HEAD) or not _is_of(ledger, content):
        return None
    standing = Standing(**content["head"])
    for row in content["trials"]:
        trial = TrialStanding(*row)
        trial.front = [(step, tuple(values)) for step, values in trial.front]
        standing.trials[trial.ordinal] = trial
    return standing, content["read"]


def _is_of(ledger: Path, content: Mapping[str, Any]) -> bool:
    """Whether the ledger holds this sweep, and every event file that the snapshot has folded."""
    files = EventFiles(ledger)
    if not all(files.event_file(writer, count - 1).exists() for writer, count in content["read"].items()):
        return False
    try:
        first = json.loads(files.event_file(min(content["read"]), 0).read_bytes())["events"][0]
        return (first["sweep_id"], first["time"]) == (content["head"]["sweep"]["sweep_id"], content["head"]["sweep"]["time"])
    except (OSError, ValueError, LookupError):
        return False


_HEAD = [field.name for field in fields(Standing) if field.name != "trials"]
