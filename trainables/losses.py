"""The training losses of DESIGN section 5: pure functions over tensors.

One pair is a query and its target document d+. Shapes: P pairs, C chunks of the batch,
N documents of the batch (the set D, every document once), L Matryoshka dimensions.
Products, norms and losses run in float32 outside autocast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Candidates:
    """What the pairs of one batch are compared with.

    owner: long [C], the place in D of each chunk's document;
    positive: long [P], the place in D of each pair's d+;
    excluded: bool [P, N], documents that leave D and the denominator of p_S for a pair,
    because they are relevant to its query too. d+ itself always stays.
    """

    owner: Tensor
    positive: Tensor
    excluded: Tensor

    @property
    def excluded_chunks(self) -> Tensor:
        """bool [P, C]"""
        return self.excluded[:, self.owner]

    @property
    def own_chunks(self) -> Tensor:
        """bool [P, C]: the chunks of d+"""
        return self.owner == self.positive[:, None]

    @property
    def without_negatives(self) -> int:
        """Pairs whose D holds nothing but d+: their cross-entropy is 0."""
        return int((~self.excluded).sum(1).eq(1).sum())


def cosines(queries: Tensor, chunks: Tensor, dimensions: Sequence[int]) -> tuple[Tensor, int]:
    """Cosines [L, P, C] of the first d entries for each d of `dimensions` (ascending).

    queries [P, D], chunks [C, D]. The products and squared norms of the blocks between
    two dimensions are summed up, so all dimensions cost one product. A vector whose first
    d entries are 0 scores 0 and gets no gradient; how many there are is the second result.
    """
    if list(dimensions) != sorted(set(dimensions)) or dimensions[-1] > queries.shape[1]:
        raise ValueError(f"dimensions ascend up to D={queries.shape[1]}, found {tuple(dimensions)}")
    with torch.autocast(queries.device.type, enabled=False):
        queries, chunks = queries.float(), chunks.float()
        product = queries.new_zeros(len(queries), len(chunks))
        query_norm, chunk_norm = queries.new_zeros(len(queries)), chunks.new_zeros(len(chunks))
        levels, zeros, start = [], 0, 0
        for end in dimensions:
            query_block, chunk_block = queries[:, start:end], chunks[:, start:end]
            product = product + query_block @ chunk_block.T
            query_norm = query_norm + query_block.square().sum(1)
            chunk_norm = chunk_norm + chunk_block.square().sum(1)
            query_zero, chunk_zero = query_norm == 0, chunk_norm == 0
            scale_q = query_norm.masked_fill(query_zero, 1).rsqrt()
            scale_c = chunk_norm.masked_fill(chunk_zero, 1).rsqrt()
            cosine = product * scale_q[:, None] * scale_c
            levels.append(cosine.masked_fill(query_zero[:, None] | chunk_zero, 0))
            zeros += int(query_zero.sum() + chunk_zero.sum())
            start = end
        return torch.stack(levels), zeros


def best_chunks(cosine: Tensor, owner: Tensor, documents: int) -> Tensor:
    """s(q,d) = max over the chunks of d: [..., P, C] -> [..., P, N].

    `scatter_reduce` with amax shares the gradient of a maximum equally among ties.
    """
    scores = cosine.new_full((*cosine.shape[:-1], documents), -torch.inf)
    return scores.scatter_reduce(-1, owner.expand_as(cosine), cosine, "amax", include_self=False)


def document_loss(cosine: Tensor, candidates: Candidates, temperature: float) -> Tensor:
    """L_doc: cross-entropy over D of s / t_doc. [L, P, C] -> [L], the mean over pairs."""
    scores = best_chunks(cosine, candidates.owner, candidates.excluded.shape[1])
    logits = (scores / temperature).masked_fill(candidates.excluded, -torch.inf)
    return _cross_entropy(logits, candidates.positive).mean(-1)


def distillation_loss(cosine: Tensor, candidates: Candidates, target: Tensor, temperature: float) -> Tensor:
    """L_dist = KL(p_T || p_S), summed over p_T > 0 only. [L, P, C] -> [L].

    target [P, C] is p_T: 0 outside d+, a row of zeros for a pair without teacher rows.
    p_S is the softmax of cos / t_chunk over all chunks of the batch save the excluded.
    The mean is over the pairs that have rows; 0 if none has.
    """
    logits = (cosine / temperature).masked_fill(candidates.excluded_chunks, -torch.inf)
    log_student = logits.log_softmax(-1).masked_fill(target == 0, 0)
    divergence = (torch.xlogy(target, target) - target * log_student).sum(-1)
    scored = (target > 0).any(-1)
    return divergence.masked_fill(~scored, 0).sum(-1) / scored.sum().clamp(min=1)


def gold_losses(cosine: Tensor, candidates: Candidates, gold: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Objective `gold`: cross-entropies of one gold chunk, (in-batch [L], in-document [L]).

    gold: long [P], the gold chunk's place among C, -1 for a pair without one. In-batch: the
    gold chunk against the chunks of other documents; in-document: against the other chunks
    of d+ (ConTEB's InSeNT form). Means over the pairs that have a gold chunk; 0 if none has.
    """
    has = gold >= 0
    logits = cosine / temperature
    chunk = gold.clamp(min=0)
    is_gold = torch.zeros_like(candidates.own_chunks).scatter_(1, chunk[:, None], True)
    leaves = candidates.excluded_chunks | (candidates.own_chunks & ~is_gold)
    # A pair without a gold chunk is masked below; its row must not be empty, or the softmax is NaN.
    in_batch = _cross_entropy(logits.masked_fill(leaves & has[:, None], -torch.inf), chunk)
    in_document = _cross_entropy(logits.masked_fill(~candidates.own_chunks & has[:, None], -torch.inf), chunk)
    count = has.sum().clamp(min=1)
    return in_batch.masked_fill(~has, 0).sum(-1) / count, in_document.masked_fill(~has, 0).sum(-1) / count


def matryoshka_levels(dimensions: Sequence[int], weights: Sequence[float] | None, full: int) -> tuple[list[int], list[float]]:
    """Ascending dimensions, D among them, and weights that sum to 1.

    A D that the list lacks joins it with the mean of the other weights.
    """
    by_dimension = dict(zip(dimensions, weights or [1.0] * len(dimensions), strict=True))
    mean = sum(by_dimension.values()) / len(by_dimension) if by_dimension else 1.0
    by_dimension.setdefault(full, mean)
    levels = sorted(by_dimension)
    total = sum(by_dimension.values())
    return levels, [by_dimension[d] / total for d in levels]


def _cross_entropy(logits: Tensor, place: Tensor) -> Tensor:
    """-log softmax(logits)[place]: [..., P, K], [P] -> [..., P]"""
    picked = place[:, None].expand(*logits.shape[:-1], 1)
    return -logits.log_softmax(-1).gather(-1, picked).squeeze(-1)
