"""chunk-size: q2c at several chunk sizes; what is lost from the first to the last, and the trend."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from corpora.chunkings import Chunking
from evaluators.suites import q2c
from evaluators.views import NDCG_CUT, Values, View

METRIC = f"nDCG@{NDCG_CUT}"


def values(view: View) -> dict[str, Values]:
    return q2c.values(view)


def curve(found: Mapping[str, Values]) -> dict[str, Values]:
    """`drop` = 100 (first - last) in points, `slope` = least squares of nDCG@10 on log2 size, so per doubling.

    Both per query, over those that count at every size; the mean is the drop, or slope, of the means.
    `found`: nDCG@10 per chunking `tokens:N`, in the order asked for.
    """
    sizes = [Chunking.parse(chunking).window for chunking in found]
    if len(set(sizes)) < 2 or 0 in sizes:
        return {}
    rows = found[next(iter(found))][0]
    for other, _ in found.values():
        rows = np.intersect1d(rows, other)
    table = np.stack([value[np.searchsorted(counted, rows)] for counted, value in found.values()], axis=1)
    doublings = np.log2(sizes) - np.log2(sizes).mean()
    return {"drop": (rows, 100 * (table[:, 0] - table[:, -1])),
            "slope": (rows, table @ doublings / (doublings @ doublings))}
