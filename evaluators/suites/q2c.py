"""q2c: nDCG from queries to chunks, over the flat index of a task."""

from __future__ import annotations

from evaluators.metrics import ndcg
from evaluators.views import Values, View


def values(view: View) -> dict[str, Values]:
    """nDCG per query that has answers; relevance is 0 or 1."""
    rows, gains = view.gold.answered, view.relevant
    return {f"nDCG@{k}": (rows, ndcg(gains, view.gold.chunk_ideal[k], k)[rows]) for k in view.cuts.ndcg}
