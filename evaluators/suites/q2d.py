"""q2d: nDCG from queries to documents, each scored by its best chunk, with grades."""

from __future__ import annotations

import numpy as np

from evaluators.metrics import ndcg
from evaluators.views import Values, View


def values(view: View) -> dict[str, Values]:
    """nDCG of every query: as in trec_eval, one whose judgments are all 0 or less counts 0."""
    rows = np.arange(view.judgments.queries)
    return {f"nDCG@{k}": (rows, ndcg(view.document_gains, view.gold.document_ideal[k], k)) for k in view.cuts.ndcg}
