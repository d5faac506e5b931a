"""context: the document, the answer and its distant evidence at K (pplx; DESIGN section 6)."""

from __future__ import annotations

import numpy as np

from evaluators.judgments import Need
from evaluators.ranking import inside, packed
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
    rows = np.array([row for row, found in enumerate(view.judgments.paths) if found], np.int64)
    cuts = sorted({*view.cuts.ks, EVIDENCE_CUT})
    recall, ceiling = np.zeros((len(rows), len(cuts))), np.zeros(len(rows))
    for place, row in enumerate(rows.tolist()):
        left, groups = _left(view, row)
        recall[place] = [_share(groups, left[:k]) for k in cuts]
        ceiling[place] = _share(groups, left)
    rank = view.document_rank[rows]
    recall *= ((rank > 0) & (rank <= EVIDENCE_CUT))[:, None]
    found = {f"EvidenceRecall@{k}": (rows, recall[:, cuts.index(k)]) for k in view.cuts.ks}
    complete = (recall[:, cuts.index(EVIDENCE_CUT)] == 1).astype(float)
    return found | {f"AllEvidence@{EVIDENCE_CUT}": (rows, complete), "EvidenceCeiling": (rows, ceiling)}


def _left(view: View, row: int) -> tuple[np.ndarray, tuple]:
    """Ranked chunks of the best-ranked target document with groups, without its best answer chunk; and its groups.

    The path is the first with groups that holds the removed chunk, else the first that has groups.
    """
    ranked = {document: inside(view.scores, view.index, row, document) for document in view.judgments.paths[row]}
    document = max(ranked, key=lambda each: _best(view, each, *ranked[each]))
    chunks = ranked[document][0]
    answers = np.isin(chunks, view.judgments.relevant[row])
    removed = chunks[answers.argmax()] if answers.any() else -1
    paths = [path for path in view.judgments.paths[row][document] if path.groups]
    return chunks[chunks != removed], next((path for path in paths if removed in path.relevant), paths[0]).groups


def _best(view: View, document: int, chunks: np.ndarray, score: np.ndarray) -> int:
    """The document's place in the order: its best chunk's score, then its own id."""
    return int(packed(score[:1], view.index.document_place[[document]])[0]) if len(chunks) else -1


def _share(groups: tuple[tuple[tuple[Need, ...], ...], ...], chunks: np.ndarray) -> float:
    """Share of the groups that have an alternative all of whose spans are in `chunks`."""
    return sum(any(all(np.isin(parts, chunks).sum() >= need for parts, need in alternative) for alternative in group)
               for group in groups) / len(groups)
