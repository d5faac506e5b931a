"""The event files of a ledger, read in the order of writing, each once.

The first look lists the folder and misses no gap; later ones, and those that start from a
snapshot, ask for the next file by its name: a large sweep has half a million.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from corpora.errors import InputError, Problem, StockpotError

FORMAT = 1
Event = Mapping[str, Any]


class EventFiles:
    """`folder`: the ledger's; `read`: how many files of each writer are known already (from a snapshot)."""

    def __init__(self, folder: Path, read: Mapping[str, int] | None = None):
        self.folder = folder
        self.read: dict[str, int] = dict(read or {})

    def new(self) -> Iterator[tuple[Path, list[Event]]]:
        """(file, its events) of what came since the last look, writer by writer."""
        if not self.read:
            for writer, numbers in sorted(writers(self.folder).items()):
                yield from self._of(writer, max(numbers) + 1)
            return
        for writer in sorted(self.read):
            yield from self._of(writer)
        while self.event_file(following := f"{int(max(self.read)) + 1:04d}", 0).exists():
            yield from self._of(following)

    def event_file(self, writer: str, number: int) -> Path:
        return self.folder / "events" / f"{writer}-{number:08d}.json"

    def segment_file(self, writer: str, number: int) -> Path:
        return self.folder / "segments" / f"{writer}-{number:08d}.jsonl"

    def _of(self, writer: str, end: int | None = None) -> Iterator[tuple[Path, list[Event]]]:
        """Up to file `end`, of which none may be missing, else as far as there are files."""
        done = self.read.get(writer, 0)
        while done < end if end is not None else self.event_file(writer, done).exists():
            segment = self.segment_file(writer, done)
            path = segment if segment.exists() else self.event_file(writer, done)
            for content in _parse(path):
                if (content.get("format"), content.get("writer"), content.get("number")) != (FORMAT, writer, done):
                    raise StockpotError(f"{path}: expected event file {done} of writer {writer}, format {FORMAT}")
                done += 1
                yield path, content["events"]
                self.read[writer] = done


def writers(folder: Path) -> dict[str, list[int]]:
    """The numbers of each writer's event files."""
    found: dict[str, list[int]] = {}
    for name in os.listdir(folder / "events") if (folder / "events").is_dir() else ():
        if name.endswith(".json") and not name.startswith("."):  # dots: files being written
            writer, _, number = name[:-5].partition("-")
            if not (writer.isdigit() and number.isdigit()):
                raise StockpotError(f"{folder / 'events' / name}: not the name of an event file")
            found.setdefault(writer, []).append(int(number))
    return found


def no_sweep(folder: Path) -> InputError:
    """What to say of a folder that should hold a sweep, and has no ledger."""
    folder = Path(folder)
    if not folder.exists():
        return InputError(Problem(str(folder), "holds no sweep: there is no such folder"))
    if not folder.is_dir():
        return InputError(Problem(str(folder), "holds no sweep: it is no folder"))
    if (folder / "ledger" / "events").is_dir():
        return InputError(Problem(str(folder), "holds no sweep: its ledger/events is empty; bring the files back from a copy of the folder or its storage"))
    inside = sorted(path.parent.parent for path in folder.glob("*/ledger/events"))
    hint = f"; {', '.join(map(str, inside[:5]))} {'do' if len(inside) > 1 else 'does'}" if inside else ""
    return InputError(Problem(str(folder), f"holds no sweep: it has no ledger/events{hint}"))


def _cure(path: Path) -> str:
    """What to do about a file that is damaged: no kill does that, for files appear whole; a disk or a hand does."""
    return (f"bring {path.name} back from a copy of the sweep's folder or its storage; if it is the newest file of all, moving it and "
            "ledger/snapshot.json away leaves a whole ledger too, and --resume does again what it told")


def _parse(path: Path) -> list[dict[str, Any]]:
    try:
        contents = json.loads(b"[" + path.read_bytes().strip().replace(b"\n", b",") + b"]")
    except FileNotFoundError:
        raise StockpotError(f"{path}: this event file is missing, though later ones exist: bring it back from a copy of the sweep's folder or its storage") from None
    except ValueError as error:
        raise StockpotError(f"{path}: not a readable event file ({error}): {_cure(path)}") from None
    if not contents or not all(
        isinstance(content, dict) and isinstance(content.get("events"), list) for content in contents
    ):
        raise StockpotError(f"{path}: not an event file: {_cure(path)}")
    return contents
