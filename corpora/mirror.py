"""A folder that several machines work in without sharing a disk: each holds what it made or used, storage holds all.

`keep` puts a file or a folder into storage, `have` brings one here that is missing. Both are
at the same place from the root everywhere. Files and folders are whole when they are kept and never change
afterwards (corpora/files.py makes them so): nothing needs to be compared, only to be there.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from corpora.errors import StockpotError
from corpora.files import write_atomically
from corpora.storage import Storage

OUTSIDE = "outside"
"""What lies elsewhere than in the root is kept under its absolute path in here."""


class Mirror:
    """`root` on this machine, and `uri` where all of it is kept."""

    def __init__(self, root: Path, uri: str):
        self.root, self.uri, self.storage = Path(root).absolute(), uri, Storage(uri)

    def keep(self, places: Iterable[Path]) -> None:
        """Into storage, in this order; a folder that is there is not sent again."""
        for place in map(Path, places):
            if place.is_dir():
                if not self.storage.has_folder(self.name(place)):
                    self.storage.put_folder(place, self.name(place))
            else:
                self.storage.put_bytes(self.name(place), place.read_bytes())

    def have(self, places: Iterable[Path]) -> None:
        """Brings here what is missing. Raises StockpotError for what is in neither."""
        for place in map(Path, places):
            if not (place.exists() or self.storage.get_folder(self.name(place), place) or self._have_file(place)):
                raise StockpotError(f"{place} is neither here nor in {self.storage.uri}: it was lost, or never kept")

    def have_folders(self, under: str) -> None:
        """Brings here every whole folder that is kept below `under`."""
        self.have(self.root / name for name in self.storage.folders(under))

    def have_files(self, pattern: str) -> None:
        """Brings here the files whose name matches, such as `ledger/events/*.json`; a `*` stays within its folder."""
        under, _, _ = pattern.partition("*")
        names = self.storage.names(under.rpartition("/")[0])
        self.have(self.root / name for name in names if PurePosixPath(f"/{name}").match(f"/{pattern}"))

    def name(self, place: Path) -> str:
        """What storage calls it."""
        place = place.absolute()
        inside = place.is_relative_to(self.root)
        return place.relative_to(self.root).as_posix() if inside else f"{OUTSIDE}{place.as_posix()}"

    def _have_file(self, place: Path) -> bool:
        content = self.storage.get_bytes(self.name(place))
        if content is not None:
            write_atomically(place, content)
        return content is not None
