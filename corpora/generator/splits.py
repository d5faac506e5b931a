"""The demo's four splits: families, names and ids of their own, sized for two cores."""

from __future__ import annotations

from corpora.documents import Corpus
from corpora.generator.generate import generate
from corpora.generator.settings import GeneratorSettings

ABILITIES = ("entity identity", "period or version", "definitions and aliases", "section scope")

SIZES: dict[str, dict[str, dict[str, int]]] = {
    "demo": {
        "train": {"families": 40, "siblings": 12, "candidates": 60, "queries": 1600, "length": 200},
        "dev": {"families": 12, "siblings": 10, "candidates": 50, "queries": 216, "length": 200},
        "confirm": {"families": 24, "siblings": 11, "candidates": 55, "queries": 360, "length": 200},
        "test": {"families": 12, "siblings": 10, "candidates": 50, "queries": 216, "length": 200},
    },
    "quick": {
        "train": {"families": 24, "siblings": 10, "candidates": 50, "queries": 800, "length": 170},
        "dev": {"families": 10, "siblings": 9, "candidates": 54, "queries": 150, "length": 170},
        "confirm": {"families": 20, "siblings": 10, "candidates": 50, "queries": 300, "length": 170},
        "test": {"families": 10, "siblings": 9, "candidates": 54, "queries": 150, "length": 170},
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
