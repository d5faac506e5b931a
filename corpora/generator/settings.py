"""What the built-in corpus is asked to be."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from corpora.generator.abilities import ABILITIES
from corpora.generator.registry import DOMAINS, TRANSLATED, tables
from corpora.generator.scene import MOST_ITEMS


class GeneratorSettings(BaseModel):
    """Sizes of a generated corpus.

    documents: in all; siblings: documents per family (the last few families may hold one more);
    candidates: answer sentences per family, at least; queries: in all, None for one per document;
    length: tokens per document, counted as words x 1.3; a document is never shorter than its answers need.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    documents: Annotated[int, Field(ge=2, le=1_000_000)] = 480
    siblings: Annotated[int, Field(ge=2, le=100)] = 20
    candidates: Annotated[int, Field(ge=2)] = 100
    queries: Annotated[int, Field(ge=1)] | None = None
    length: Annotated[int, Field(ge=1, le=50_000)] = 400
    abilities: tuple[str, ...] = tuple(ABILITIES)
    domains: tuple[str, ...] = tuple(DOMAINS)

    @field_validator("abilities", "domains")
    @classmethod
    def _known(cls, chosen: tuple[str, ...], info) -> tuple[str, ...]:
        allowed = {"abilities": ABILITIES, "domains": DOMAINS}[info.field_name]
        unknown = [name for name in chosen if name not in allowed]
        if unknown or not chosen or len(set(chosen)) < len(chosen):
            raise ValueError(f"{', '.join(unknown) or 'an empty or repeating list'} is not allowed; "
                             f"choose each at most once from: {', '.join(allowed)}")
        return chosen

    @model_validator(mode="after")
    def _feasible(self) -> GeneratorSettings:
        if self.documents < self.siblings:
            raise ValueError(f"{self.documents} documents do not fill one family of {self.siblings} siblings")
        if self.items > MOST_ITEMS:
            raise ValueError(f"{self.candidates} candidates in {self.siblings} siblings are {self.items} a document; "
                             f"at most {MOST_ITEMS} fit: ask for {-(-self.candidates // MOST_ITEMS)} siblings or more")
        for ability in self.abilities:
            if not tables(ability, self.domains):
                raise ValueError(f"the ability {ability!r} cannot be written in {', '.join(self.domains)}: add one of "
                                 f"{', '.join(dict.fromkeys(table.name for table in TRANSLATED))}, or leave it out")
        if self.queries is not None and self.queries > self.documents * self.items:
            raise ValueError(f"{self.queries} queries, but only {self.documents * self.items} answer sentences")
        return self

    @property
    def families(self) -> int:
        return self.documents // self.siblings

    @property
    def items(self) -> int:
        """Answer sentences per document."""
        return -(-self.candidates // self.siblings)
