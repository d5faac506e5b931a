"""The name of a plan: 12 hexadecimal digits, four each of its config, its data and its code.

So whoever holds the name of an earlier plan can be told what has changed since, and no plan
has to be kept anywhere. It guards against accidents: one change in 65,536 goes unseen.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from corpora.errors import InputError, Problem

PARTS = ("config", "data", "code")
_DIGITS = 4


def plan_hash(hashes: Mapping[str, str]) -> str:
    """`hashes`: any text for each of PARTS."""
    return "".join(hashlib.sha256(hashes[part].encode()).hexdigest()[:_DIGITS] for part in PARTS)


def check_plan(given: str, now: str) -> None:
    """Raises InputError where `given`, the name that a plan had, is not `now`'s: with both, and what changed."""
    if not re.fullmatch(f"[0-9a-f]{{{_DIGITS * len(PARTS)}}}", given):
        raise InputError(Problem("--yes", f"takes the 12 hexadecimal digits that `stockpot plan` prints, found {given!r}"))
    if given != now:
        places = range(0, len(now), _DIGITS)
        changed = [part for part, at in zip(PARTS, places, strict=True) if given[at : at + _DIGITS] != now[at : at + _DIGITS]]
        raise InputError(Problem("--yes", f"the plan is {now} now, not {given}: {' and '.join(changed)} changed since; "
                                 "look at `stockpot plan` again"))  # fmt: skip
