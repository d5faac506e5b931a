"""storage: quality against bytes per vector, over dimensions and precisions, and who is not beaten at both."""

from __future__ import annotations

import numpy as np
import pandas as pd

from evaluators.codes import bytes_per_vector
from evaluators.suites import q2c
from evaluators.views import NDCG_CUT, Values, View

METRIC = f"nDCG@{NDCG_CUT}"


def values(view: View) -> dict[str, Values]:
    return {METRIC: q2c.values(view)[METRIC]}


def frontier(rows: pd.DataFrame) -> pd.DataFrame:
    """dimension, precision, bytes, value (mean over tasks) and whether it is on the Pareto front, by bytes ascending.

    `rows`: `Results.rows()`. On the front is what no other beats or equals in quality for as many bytes or fewer.
    """
    chosen = rows[(rows.suite == "storage") & (rows.dimension > 0)]
    found = chosen.groupby(["dimension", "precision"], observed=True)["value"].mean().reset_index()
    found["bytes"] = [bytes_per_vector(*axes) for axes in zip(found.dimension, found.precision, strict=True)]
    found = found.sort_values(["bytes", "value"], ascending=[True, False], kind="stable", ignore_index=True)
    best = np.concatenate([[-np.inf], np.maximum.accumulate(found["value"].to_numpy())])[:-1]
    found["front"] = found["value"].to_numpy() > best
    return found[["dimension", "precision", "bytes", "value", "front"]]
