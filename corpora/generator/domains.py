"""What a domain's documents are made of: the type of one table of wording."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Attribute:
    """One fact that a document states again and again: for each part, unit, case or date.

    `shapes` are clauses with `{value}`, the surface forms of the answer sentence, and `asks` are
    questions with `{item}` that use other words. Values are numbers in [low, high), drawn
    independently of everything that tells the sentences apart.
    """

    label: str
    shapes: tuple[str, ...]
    asks: tuple[str, ...]
    low: int
    high: int


@dataclass(frozen=True)
class Domain:
    """One kind of document.

    holder: sentences that name the one whose document it is; `held` is the query's phrase for it.
    closing: ends the document and names the holder again. whole: what the document covers, as a query says it.
    parts: headings that every sibling has -> the query's phrase for them.
    unit: the noun for things that have their own names (`unit_names`: a kind of `names.POOLS`).
    alias: the word that a definition puts in a unit's place.
    filler: subjects, predicates and circumstances of the sentences that say nothing a query asks for.
    """

    name: str
    kind: str
    title: str
    opening: str
    holder_names: str
    holder: tuple[str, ...]
    held: str
    closing: str
    whole: str
    parts: dict[str, str]
    unit: str
    units: str
    unit_names: str
    alias: str
    attributes: tuple[Attribute, ...]
    filler: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
    language: str = "en"
