"""conteb: nDCG@10 over the publishers' own chunks, one flat index a task; unweighted mean over tasks."""

from __future__ import annotations

from evaluators.suites import q2c
from evaluators.views import NDCG_CUT, Values, View


def values(view: View) -> dict[str, Values]:
    metric = f"nDCG@{NDCG_CUT}"
    return {metric: q2c.values(view)[metric]}
