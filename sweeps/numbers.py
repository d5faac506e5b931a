"""Named numbers in a third of a dict's memory: a driver holds many hundred thousand of these."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

_DOUBLE = struct.Struct("d")
_PLACES: dict[tuple[str, ...], dict[str, int]] = {}
"""Name -> position, once for all that have the same names in the same order."""


class Numbers(Mapping[str, float]):
    """A read-only mapping that equals a dict of the same numbers; `dict(numbers)` makes one of it, for JSON say."""

    __slots__ = ("_places", "_values")

    def __init__(self, numbers: Mapping[str, float]):
        names = tuple(numbers)
        places = _PLACES.get(names)
        if places is None:
            places = _PLACES.setdefault(names, {name: place for place, name in enumerate(names)})
        self._places = places
        self._values = struct.pack(f"{len(names)}d", *numbers.values())

    def __getitem__(self, name: str) -> float:
        return _DOUBLE.unpack_from(self._values, 8 * self._places[name])[0]

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


NOTHING = Numbers({})
