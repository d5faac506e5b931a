"""What an ability writes with: the family's shared wording and one sibling's page, names and values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from corpora.documents import Alternative, Group, Span
from corpora.generator.domains import Attribute, Domain
from corpora.generator.names import Names
from corpora.generator.page import Page

ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
MOST_ITEMS = len(ORDINALS)
NAMES_PER_DOCUMENT = MOST_ITEMS + 2

CASES = ("the weather is stormy", "the request arrives after midnight", "a minor is involved",
         "the papers are incomplete", "a strike is under way", "the day is a public holiday",
         "a relative takes part", "the power supply fails", "an interpreter is present",
         "the order was placed by telephone", "the road is closed")
EFFECTS = ("the flooding", "the blackout", "the evacuation", "the shutdown", "the recall", "the detour",
           "the quarantine", "the postponement", "the merger", "the lawsuit", "the relocation")


@dataclass(frozen=True)
class Family:
    """What the siblings of a family share; drawn once, so that nothing of it can tell them apart.

    `style` picks among surface forms; `gaps` says how many filler sentences stand in each gap.
    """

    domain: Domain
    attribute: Attribute
    shapes: tuple[str, ...]
    items: int
    parts: tuple[str, ...]
    cases: tuple[str, ...]
    effects: tuple[str, ...]
    periods: tuple[str, ...]
    holder: str
    style: int
    filler: tuple[int, ...]
    gaps: tuple[int, ...] = ()


@dataclass(frozen=True)
class Ask:
    """A query on the page: its wording, the answer sentence, and the evidence that tells it apart."""

    text: str
    answer: Span
    evidence: tuple[Group, ...]


def group(*alternatives: Span | Alternative) -> Group:
    """Alternatives of one piece of evidence; a bare span is an alternative of one span."""
    return tuple((found,) if isinstance(found[0], int) else found for found in alternatives)


class Scene:
    """One sibling being written."""

    def __init__(self, family: Family, sibling: int, document: int, names: Names, rng: np.random.Generator):
        self.family, self.domain, self.sibling, self.rng = family, family.domain, sibling, rng
        self.page = Page()
        self.asks: list[Ask] = []
        self.gaps = 0
        self._filled = 0
        self._names, self._name = names, document * NAMES_PER_DOCUMENT

    def name(self, kind: str) -> str:
        """A name that no other document, family or split holds."""
        self._name += 1
        return self._names(kind, self._name - 1)

    def units(self) -> list[str]:
        return [self.name(self.domain.unit_names) for _ in range(self.family.items)]

    def shuffled(self, things: list) -> list:
        return [things[place] for place in self.rng.permutation(len(things))]

    def open(self) -> None:
        self.page.heading(self.domain.title)
        self.page.sentence(self.domain.opening)

    def hold(self, name: str) -> Span:
        """The sentence that says whose document this is."""
        forms = self.domain.holder
        return self.page.sentence(forms[self.rng.integers(len(forms))].format(name=name))

    def close(self, name: str) -> Span:
        self.page.paragraph()
        return self.page.sentence(self.domain.closing.format(name=name))

    def value(self) -> str:
        """Depends on nothing that tells the answers apart."""
        number = int(self.rng.integers(self.family.attribute.low, self.family.attribute.high))
        return f"{number:,}" if self.domain.language == "en" else str(number)

    def answer(self, before: str = "") -> Span:
        """An answer sentence: `before`, one of the family's shapes, a value."""
        shapes = self.family.shapes
        clause = before + shapes[self.rng.integers(len(shapes))].format(value=self.value())
        return self.page.sentence(f"{capital(clause)}.")

    def fill(self) -> None:
        """A gap: as many sentences that say nothing as the document's length asks for."""
        for sentence in self.gap():
            self.page.sentence(sentence)

    def gap(self) -> list[str]:
        """The sentences of the next gap, the same in every sibling."""
        many = self.family.gaps[self.gaps] if self.family.gaps else 0
        self.gaps += 1
        self._filled += many
        return [filler(self.domain, self.family.filler, number) for number in range(self._filled - many, self._filled)]

    def ask(self, item: str, answer: Span, *evidence: Group, after: str = "") -> None:
        forms = self.family.attribute.asks
        question = forms[self.rng.integers(len(forms))].format(item=item)
        self.asks.append(Ask(f"{question}{after}?", answer, evidence))

    def parts(self) -> Iterator[tuple[str, Span, Span]]:
        """Writes the family's parts, one answer each: (the query's phrase, heading, answer)."""
        for part in self.family.parts:
            heading = self.page.heading(part)
            self.fill()
            yield self.domain.parts[part], heading, self.answer()


def capital(text: str) -> str:
    return text[0].upper() + text[1:]


def filler(domain: Domain, order: tuple[int, ...], number: int) -> str:
    """Sentence `number` of the family's filler: single clauses first, then pairs of them."""
    rounds, place = divmod(number, len(order))
    clause = _clause(domain, order[place])
    if rounds:
        second = _clause(domain, order[(place + rounds * 7 + 1) % len(order)])
        clause = f"{clause}; {second[0].lower()}{second[1:]}"
    return f"{clause}."


def sentences_for(words: float, domain: Domain, clauses: int) -> int:
    """How many sentences of `filler` come nearest to so many words: those after the first round are twice as long."""
    each = sum(sum(len(text.split()) for text in pool) / len(pool) for pool in domain.filler)
    single = max(0, round(words / each))
    return single if single <= clauses else clauses + (single - clauses) // 2


def _clause(domain: Domain, place: int) -> str:
    subjects, predicates, circumstances = domain.filler
    place, first = divmod(place, len(subjects))
    place, second = divmod(place, len(predicates))
    return f"{subjects[first]} {predicates[second]} {circumstances[place]}"
