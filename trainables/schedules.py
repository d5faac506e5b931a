"""The learning rate over a trial: warm-up, constant, decay (DESIGN section 5)."""

from __future__ import annotations

from trainables.recipe import Recipe


def learning_rate(recipe: Recipe, step: int) -> float:
    """The rate of the update that leads from `step` to `step + 1`.

    It rises in equal parts over `warmup_steps`, stays, and falls in equal parts over the
    last `decay_steps`; no update is wasted on a rate of 0. Where the two overlap, the lower holds.
    """
    if not 0 <= step < recipe.steps:
        raise ValueError(f"step {step} of a recipe of {recipe.steps} steps")
    rise = (step + 1) / (recipe.warmup_steps + 1)
    fall = (recipe.steps - step) / (recipe.decay_steps + 1)
    return recipe.learning_rate * min(rise, fall, 1.0)
