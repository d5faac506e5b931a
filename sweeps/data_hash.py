"""Which data made a number: one hash a split, over what its corpora hold."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from corpora.documents import Corpus


def data_hashes(splits: Mapping[str, Sequence[Corpus]]) -> dict[str, str]:
    """Names and places do not count: copies of a corpus are the same data."""
    return {
        split: hashlib.sha256("".join(part.sha256 for part in parts).encode()).hexdigest() for split, parts in splits.items()
    }
