"""A recipe's loss of one batch and its gradient at the embeddings (DESIGN section 5).

L = (1-w) first + w second, where `distil` has L_doc and L_dist, `gold` its in-batch and
in-document cross-entropies; each the weighted mean over the Matryoshka dimensions. Working
out the gradient at the projected vectors z first, apart from the encoder's, costs little:
it gives the gradient norm of each loss, lets several processes share one global batch,
and lets the encoder be run in parts.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from corpora.errors import NonFinite
from trainables.batches import Batch
from trainables.heads import trained
from trainables.losses import (
    Candidates,
    cosines,
    distillation_loss,
    document_loss,
    gold_losses,
    matryoshka_levels,
)
from trainables.recipe import Recipe

_NAMES = {"distil": ("document", "distillation"), "gold": ("in_batch", "in_document")}


@dataclass(frozen=True)
class Outcome:
    """Gradients of L at z, queries [P, D] and chunks [C, D], and what is logged.

    measures: `loss`, each part's `loss/...` and `gradient_norm/...` (the norm of the part's
    gradient at all query and chunk vectors together, before the weight), and counts.
    """

    queries: Tensor
    chunks: Tensor
    measures: dict[str, float]


def outcome(recipe: Recipe, batch: Batch, queries: Tensor, chunks: Tensor) -> Outcome:
    """queries [P, D] and chunks [C, D] are z of the global batch: pooled, projected, not quantised."""
    device = queries.device
    leaves = [z.detach().float().requires_grad_() for z in (queries, chunks)]
    levels, weights = matryoshka_levels(recipe.dimensions, recipe.dimension_weights, queries.shape[1])
    cosine, zeros = cosines(*(trained(z, recipe.quantiser) for z in leaves), levels)
    candidates = Candidates(*(torch.from_numpy(a).to(device) for a in (batch.owner, batch.positive, batch.excluded)))
    parts = [(torch.tensor(weights, device=device) * part).sum() for part in _parts(recipe, cosine, candidates, batch)]
    if not all(torch.isfinite(part) for part in parts):
        raise NonFinite("the loss is not finite: " + ", ".join(
            f"{name} {part.item()}" for name, part in zip(_NAMES[recipe.objective], parts, strict=True)))
    gradients = [torch.autograd.grad(part, leaves, retain_graph=True) for part in parts]
    shares = 1 - recipe.weight, recipe.weight
    combined = [sum(share * gradient for share, gradient in zip(shares, pair)) for pair in zip(*gradients)]
    measures = {"loss": sum(share * part.item() for share, part in zip(shares, parts))}
    for name, part, (at_queries, at_chunks) in zip(_NAMES[recipe.objective], parts, gradients):
        measures[f"loss/{name}"] = part.item()
        measures[f"gradient_norm/{name}"] = float(torch.hypot(at_queries.norm(), at_chunks.norm()))
    measures |= {
        "pairs": float(len(batch.pairs)),
        "pairs_without_negatives": float(candidates.without_negatives),
        "pairs_without_rows": float((batch.target.sum(1) == 0).sum()),
        "pairs_without_gold_chunk": float((batch.gold < 0).sum()),
        "zero_vectors": float(zeros),
    }
    return Outcome(*combined, measures)


def _parts(recipe: Recipe, cosine: Tensor, candidates: Candidates, batch: Batch) -> tuple[Tensor, Tensor]:
    if recipe.objective == "gold":
        gold = torch.from_numpy(batch.gold).to(cosine.device)
        return gold_losses(cosine, candidates, gold, recipe.chunk_temperature)
    target = torch.from_numpy(batch.target).to(cosine.device)
    return (
        document_loss(cosine, candidates, recipe.document_temperature),
        distillation_loss(cosine, candidates, target, recipe.chunk_temperature),
    )
