"""How corpora are cut into splits unless told otherwise, the same in every command and in a sweep's YAML."""

from __future__ import annotations

import math
from collections.abc import Mapping

THRESHOLD = 0.6
"""Jaccard similarity of word shingles from which two documents are near-duplicates."""
SHARES = {"train": 0.6, "dev": 0.2, "confirm": 0.2}
"""Of the documents, by split."""


def shares_problem(shares: Mapping[str, float]) -> str | None:
    """Why a corpus cannot be cut so, in words; None where it can."""
    if not shares:
        return "no split is named"
    for name, share in shares.items():
        if not (math.isfinite(share) and share > 0):
            return f"the share of {name} is {share:g}, and must be over 0"
    total = math.fsum(shares.values())
    if abs(total - 1) > 1e-6:
        return f"{' + '.join(f'{name} {share:g}' for name, share in shares.items())} sum to {total:g}, not to 1"
    return None


def shares_text(shares: Mapping[str, float]) -> str:
    """As `--shares` takes them: `train=0.6,dev=0.2`."""
    return ",".join(f"{name}={share:g}" for name, share in shares.items())
