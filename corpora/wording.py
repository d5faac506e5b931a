"""Values and names as messages and titles spell them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any


def short(value: Any) -> str:
    """A value as people write it: 3 digits, chunking mixes as sums, lists as 384/128."""
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, Mapping):
        equal = all(share == next(iter(value.values())) for share in value.values())
        return "+".join(str(key) if equal else f"{short(share)}*{key}" for key, share in value.items())
    if isinstance(value, (list, tuple)):
        return "/".join(short(item) for item in value)
    return str(value)


def nearest(name: str, valid: Sequence[str]) -> str:
    """`; did you mean 'weight'?`, or the list of valid names."""
    close = get_close_matches(name, valid, n=1) or [one for one in valid if name and name in one]
    return f"; did you mean {close[0]!r}?" if close else f"; allowed: {', '.join(valid)}"
