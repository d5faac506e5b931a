"""context: the document, the answer and its distant evidence at K (pplx; DESIGN section 6)."""

from __future__ import annotations

import math

import numpy as np

from evaluators.judgments import Need
from evaluators.ranking import inside
from evaluators.views import EVIDENCE_CUT, Values, View


def values(view: View) -> dict[str, Values]:
    """Document@K over the queries that have a target document, Answer@K over those that have answers, evidence over
    those that have groups and answers, so that no denominator depends on the model."""
    return documents(view) | _answers(view) | _evidence(view)


def documents(view: View) -> dict[str, Values]:
    """Document@K = [rank(d*) <= K], d* the best-ranked target document."""
    rows = view.gold.targeted
    rank = view.document_rank[rows]
    return {f"Document@{k}": (rows, ((rank > 0) & (rank <= k)).astype(float)) for k in view.cuts.ks}


def _answers(view: View) -> dict[str, Values]:
    rows = view.gold.answered
    relevant = view.relevant[rows]
    return {f"Answer@{k}": (rows, relevant[:, :k].any(axis=1).astype(float)) for k in view.cuts.ks}


def _evidence(view: View) -> dict[str, Values]:
    """EvidenceRecall@K, AllEvidence@10, and the ceiling: the share that the chunks left could recover at best."""
    found = _recovered(view)
    rows = np.array(sorted(found), np.int64)
    within = (view.document_rank[rows] > 0) & (view.document_rank[rows] <= EVIDENCE_CUT)

    def share(k: float) -> np.ndarray:
        return np.array([sum(rank <= k for rank in found[row]) / len(found[row]) for row in rows.tolist()])

    values = {f"EvidenceRecall@{k}": (rows, share(k) * within) for k in view.cuts.ks}
    complete = (share(EVIDENCE_CUT) * within == 1).astype(float)
    ceiling = share(np.finfo(float).max)
    return values | {f"AllEvidence@{EVIDENCE_CUT}": (rows, complete), "EvidenceCeiling": (rows, ceiling)}


def _recovered(view: View) -> dict[int, list[float]]:
    """For each query that counts, and each group of its path, the rank at which the group is recovered; else inf.

    The document is the best-ranked target document that has groups; its chunks are ranked without its best-ranked
    answer chunk. The path is the first with groups that holds the removed chunk, else the first that has groups.
    """
    asked: dict[int, list[int]] = {}
    for row, paths in enumerate(view.judgments.paths):
        for document in paths:
            asked.setdefault(document, []).append(row)
    best: dict[int, tuple[int, int, list[int]]] = {}
    for document, rows in asked.items():
        ranks, places = inside(view.scores, view.index, rows, document)
        for row, rank, place in zip(rows, ranks.tolist(), places.tolist(), strict=True):
            if row not in best or place > best[row][0]:
                best[row] = place, document, rank
    return {row: _path_ranks(view, row, document, rank) for row, (_, document, rank) in best.items()}


def _path_ranks(view: View, row: int, document: int, rank: list[int]) -> list[float]:
    """Ranks, from 1, at which the groups of the document's path are recovered; `rank`, from 0, of all its chunks."""
    chunks = view.index.table.of(document)
    answers = [chunk for chunk in view.judgments.relevant[row].tolist() if chunks.start <= chunk < chunks.stop]
    removed = min(answers, key=lambda chunk: rank[chunk - chunks.start], default=None)
    gone = math.inf if removed is None else rank[removed - chunks.start]

    def place(chunk: int) -> float:
        own = rank[chunk - chunks.start]
        return math.inf if own == gone else own + (own < gone)

    def span(need: Need) -> float:
        """By the first chunk that contains the span whole, else by the last of its parts."""
        parts, every = need
        return (max if every else min)(map(place, parts), default=math.inf)

    paths = [path for path in view.judgments.paths[row][document] if path.groups]
    path = next((path for path in paths if removed in path.relevant), paths[0])
    return [min(max(map(span, alternative)) for alternative in group) for group in path.groups]
