"""The built-in corpus: seeded families of near-identical documents that only distant context tells apart."""

from corpora.generator.chance import candidates, chance
from corpora.generator.generate import generate
from corpora.generator.settings import GeneratorSettings
from corpora.generator.splits import demo_splits

__all__ = ["GeneratorSettings", "candidates", "chance", "demo_splits", "generate"]
