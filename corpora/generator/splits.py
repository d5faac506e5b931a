"""The demo's four splits: families, names and ids of their own, sized for two cores."""

from __future__ import annotations

from corpora.documents import Corpus
from corpora.generator.generate import generate
from corpora.generator.settings import GeneratorSettings

ABILITIES = ("entity identity", "conditions and exceptions", "section scope", "change over time")
"""The four that a two-layer student learns in tens of steps on a laptop; `generate` writes all twelve."""

SIZES: dict[str, dict[str, dict[str, int]]] = {
    "demo": {
        "train": {"families": 24, "siblings": 10, "candidates": 50, "queries": 800, "length": 150},
        "dev": {"families": 10, "siblings": 9, "candidates": 54, "queries": 150, "length": 150},
        "confirm": {"families": 24, "siblings": 10, "candidates": 50, "queries": 336, "length": 150},
        "test": {"families": 10, "siblings": 9, "candidates": 54, "queries": 150, "length": 150},
    },
    "quick": {
        "train": {"families": 12, "siblings": 10, "candidates": 50, "queries": 400, "length": 120},
        "dev": {"families": 10, "siblings": 9, "candidates": 54, "queries": 100, "length": 120},
        "confirm": {"families": 20, "siblings": 9, "candidates": 54, "queries": 200, "length": 120},
        "test": {"families": 10, "siblings": 9, "candidates": 54, "queries": 100, "length": 120},
    },
}
"""Per split, `families` of `siblings`; ten or more, so that none is over a tenth of its split."""


def demo_splits(seed: int, size: str = "demo") -> dict[str, Corpus]:
    """train, dev, confirm and test, disjoint in families, names and ids; `size` is "demo" or "quick"."""
    splits: dict[str, Corpus] = {}
    families = documents = 0
    for split, sizes in SIZES[size].items():
        settings = GeneratorSettings(
            documents=sizes["families"] * sizes["siblings"], siblings=sizes["siblings"],
            candidates=sizes["candidates"], queries=sizes["queries"], length=sizes["length"], abilities=ABILITIES)
        splits[split] = generate(settings, seed, name=f"built-in {split}",
                                 families_before=families, documents_before=documents)
        families += settings.families
        documents += settings.documents
    return splits
