"""Named numbers, packed: a driver holds many hundred thousand of them, and a dict takes seven times their memory."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from itertools import count

_DOUBLE = struct.Struct("d")
_PLACES: dict[tuple[tuple[str, ...], ...], tuple[dict[str, int], ...]] = {}
"""Where each name's number lies, a dict a group, once for all records that have the same names in the same order."""


class Numbers(Mapping[str, float]):
    """One group of a record: a read-only mapping that equals a dict of the same numbers; `dict(numbers)` makes one, for JSON say."""

    __slots__ = ("_packed", "_places")

    def __init__(self, places: Mapping[str, int], packed: bytes):
        self._places, self._packed = places, packed

    def __getitem__(self, name: str) -> float:
        return _DOUBLE.unpack_from(self._packed, self._places[name])[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __or__(self, other: Mapping[str, float]) -> dict[str, float]:
        return {**self, **other}

    def __ror__(self, other: Mapping[str, float]) -> dict[str, float]:
        return {**other, **self}

    def __repr__(self) -> str:
        return repr(dict(self))


class Record:
    """Groups of named numbers, and a text, in one string of bytes. What a record is made of is never changed."""

    __slots__ = ("_packed", "_places")

    def __init__(self, *groups: Mapping[str, float], text: str = ""):
        names = tuple(map(tuple, groups))
        if names not in _PLACES:
            places = count(0, _DOUBLE.size)
            _PLACES[names] = tuple(dict(zip(group, places)) for group in names)
        self._places = _PLACES[names]
        numbers = [number for group in groups for number in group.values()]
        self._packed = struct.pack(f"{len(numbers)}d", *numbers) + text.encode()

    def group(self, number: int) -> Numbers:
        return Numbers(self._places[number], self._packed)

    @property
    def text(self) -> str:
        return self._packed[_DOUBLE.size * sum(map(len, self._places)) :].decode()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._parts() == other._parts()

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._parts()}"

    def _parts(self) -> tuple:
        return (*map(self.group, range(len(self._places))), self.text)
