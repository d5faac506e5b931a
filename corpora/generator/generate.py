"""Families of near-identical documents, written sibling by sibling (DESIGN section 4, built-in corpus)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from corpora.documents import Corpus, Document, Query, Target
from corpora.generator.abilities import ABILITIES
from corpora.generator.names import Names, drawn
from corpora.generator.registry import tables
from corpora.generator.scene import CASES, EFFECTS, NAMES_PER_DOCUMENT, Ask, Family, Scene, sentences_for
from corpora.generator.settings import GeneratorSettings

TOKENS_PER_WORD = 1.3
PERIODS = ([f"the year {year}" for year in range(1900, 2020)], [f"edition {number}" for number in range(10, 130)])


def generate(settings: GeneratorSettings, seed: int, *, name: str = "built-in",
             families_before: int = 0, documents_before: int = 0) -> Corpus:
    """The built-in corpus; the same settings and seed give the same bytes on any machine.

    `families_before` and `documents_before` number what earlier splits of the same seed hold,
    so that no name or id comes twice.
    """
    names = Names(seed)
    documents: list[Document] = []
    queries: list[Query] = []
    total = settings.documents if settings.queries is None else settings.queries
    sizes = _shares(settings.documents, settings.families)
    for place, (size, wanted) in enumerate(zip(sizes, _shares(total, settings.families))):
        number = families_before + place
        before = documents_before + len(documents)
        family, ability = _family(settings, seed, number, before, size, names)
        label = f"{family.domain.name}-{ability.replace(' ', '-')}-{number:05d}"
        scenes = [_write(family, ability, sibling, before + sibling, names, seed) for sibling in range(size)]
        ids = [f"{drawn(seed, 'document', before + sibling):016x}" for sibling in range(size)]
        documents += [
            Document(id=id, text=scene.page.text, title=family.domain.title, domain=family.domain.name,
                     language=family.domain.language, family=label)
            for id, scene in zip(ids, scenes)
        ]
        rng = np.random.default_rng([seed, number, 1])
        for ask_number, (sibling, ask) in enumerate(_chosen(scenes, wanted, rng)):
            id = f"{drawn(seed, 'query', number, ask_number):016x}"
            queries.append(_query(id, ask, ids[sibling], scenes[sibling], ability))
    return Corpus(name=name, documents=tuple(documents), queries=tuple(queries))


def _shares(total: int, parts: int) -> list[int]:
    """`total` cut into `parts` whole numbers that differ by one at most."""
    return [total * (place + 1) // parts - total * place // parts for place in range(parts)]


def _family(settings: GeneratorSettings, seed: int, number: int, document: int, siblings: int,
            names: Names) -> tuple[Family, str]:
    """Draws what the siblings share, and measures the gaps so that they reach the length asked for."""
    rng = np.random.default_rng([seed, number, 0])
    round_, turn = divmod(number, len(settings.abilities))
    ability = settings.abilities[turn]
    allowed = tables(ability, settings.domains)
    domain = allowed[(round_ + 2 * turn) % len(allowed)]

    def some(things, many):
        return tuple(things[place] for place in rng.permutation(len(things))[:many])

    attribute = domain.attributes[rng.integers(len(domain.attributes))]
    style = int(rng.integers(12))
    clauses = int(np.prod([len(pool) for pool in domain.filler]))
    family = Family(
        domain=domain, attribute=attribute, shapes=some(attribute.shapes, 2), items=settings.items,
        parts=some(list(domain.parts), settings.items), cases=some(CASES, settings.items),
        effects=some(EFFECTS, settings.items), periods=some(PERIODS[style % 2], siblings),
        holder=names(domain.holder_names, (document + 1) * NAMES_PER_DOCUMENT - 1), style=style,
        filler=tuple(int(place) for place in rng.permutation(clauses)),
    )
    bare = _write(family, ability, 0, document, names, seed)
    missing = settings.length / TOKENS_PER_WORD - len(bare.page.text.split())
    return replace(family, gaps=tuple(_shares(sentences_for(missing, domain, clauses), bare.gaps))), ability


def _write(family: Family, ability: str, sibling: int, document: int, names: Names, seed: int) -> Scene:
    scene = Scene(family, sibling, document, names, np.random.default_rng([seed, document, 2]))
    ABILITIES[ability](scene)
    return scene


def _chosen(scenes: list[Scene], wanted: int, rng: np.random.Generator) -> list[tuple[int, Ask]]:
    """`wanted` asks of the family, each at most once, spread evenly over the documents' items."""
    items = len(scenes[0].asks)
    order = rng.permuted(np.tile(np.arange(len(scenes)), (items, 1)), axis=1)
    asks = [(int(order[item, turn]), int(item)) for turn in range(len(scenes)) for item in rng.permutation(items)]
    return [(sibling, scenes[sibling].asks[item]) for sibling, item in asks[:wanted]]


def _query(id: str, ask: Ask, document: str, scene: Scene, ability: str) -> Query:
    start, end = ask.answer
    target = Target(document=document, answers=(ask.answer,), evidence=ask.evidence,
                    quotes=(scene.page.text[start:end],))
    return Query(id=id, text=ask.text, targets=(target,), domain=scene.domain.name, ability=ability)
