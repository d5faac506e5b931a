"""spans: do the top chunks hold the answer span of the named document whole, alone or together (span-eval)."""

from __future__ import annotations

import numpy as np

from evaluators.budget import taken
from evaluators.judgments import NamedSpan
from evaluators.metrics import reciprocal_rank
from evaluators.views import Values, View


def values(view: View) -> dict[str, Values]:
    """SpanHit, UnionHit and SpanMRR at every k and at every budget of context tokens, over queries with answers;
    and ContextTokens, what a reader of the chunks pays."""
    _deepen(view)
    rows = np.array([row for row, named in enumerate(view.judgments.named) if named], np.int64)
    whole = view.whole[rows]
    found: dict[str, Values] = {}
    for label, length in _lengths(view, rows).items():
        within = whole & (np.arange(whole.shape[1]) < length[:, None])
        hit = within.any(axis=1)
        union = hit | np.array([not each and _union_hit(view, row, size)
                                for row, size, each in zip(rows.tolist(), length.tolist(), hit, strict=True)], bool)
        found |= {f"SpanHit@{label}": (rows, hit.astype(float)), f"UnionHit@{label}": (rows, union.astype(float)),
                  f"SpanMRR@{label}": (rows, reciprocal_rank(within))}
        paid = np.where(np.arange(whole.shape[1]) < length[:, None], _costs(view, rows), 0).sum(axis=1)
        found[f"ContextTokens@{label}"] = rows, paid.astype(float)
    return found


def depth(costs: np.ndarray, budgets: tuple[int, ...]) -> int:
    """A list length that most often outlasts the largest budget: twice what chunks of mean cost would fill."""
    mean = costs.mean() if len(costs) else 1
    return min(len(costs), int(2 * max(budgets, default=0) / max(mean, 1)) + 1)


def _deepen(view: View) -> None:
    """Ranks again, until each list holds a chunk that passes the largest budget, or every chunk there is."""
    costs, budget = view.gold.costs, max(view.cuts.budgets, default=0)
    while view.chunks.position.shape[1] < len(costs) and not (
            costs[view.chunks.position].sum(axis=1) > budget).all():
        view.rank(2 * view.chunks.position.shape[1])


def _lengths(view: View, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Length of each query's list `[rows]` under every cut."""
    found = {str(k): np.full(len(rows), k) for k in view.cuts.ks}
    cost = _costs(view, rows)
    counts = (view.chunks.position[rows] >= 0).sum(axis=1)
    return found | {f"{budget}tok": np.minimum(taken(cost, budget), counts) for budget in view.cuts.budgets}


def _costs(view: View, rows: np.ndarray) -> np.ndarray:
    """Context tokens of the ranked chunks int64 `[rows, depth]`, 0 beyond the list."""
    listed = view.chunks.position[rows]
    return np.where(listed >= 0, view.gold.costs[listed], 0)


def _union_hit(view: View, row: int, size: int) -> bool:
    """Whether the first `size` chunks that belong to a named document cover one of its answers without a gap."""
    table = view.judgments.table
    chunks = view.chunks.position[row, :size]
    chunks = chunks[chunks >= 0]
    return any(covered(named, table.span[chunks[table.document[chunks] == named.document]])
               for named in view.judgments.named[row])


def covered(named: NamedSpan, spans: np.ndarray) -> bool:
    """Whether the spans `[chunks, 2]` together hold every character of the named span."""
    reach, end = named.span
    for start, stop in spans[np.argsort(spans[:, 0], kind="stable")].tolist():
        if start > reach:
            return False
        reach = max(reach, stop)
        if reach >= end:
            return True
    return False
