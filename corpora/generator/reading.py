"""A full-document reader: works out from a text alone what each answer sentence is about.

It knows the language of the documents (how parties are named, terms defined, lists ordered)
and reads top to bottom, as a careful person would. It never sees a label, nor who wrote what.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from corpora.documents import Span
from corpora.generator.registry import DOMAINS, TRANSLATED
from corpora.generator.scene import ORDINALS
from corpora.generator.told_by_head import MONTHS

TABLES = (*DOMAINS.values(), *TRANSLATED)
DATE = re.compile(rf"({'|'.join(MONTHS)}) (\d{{4}})")

SCOPES = ("This section applies to (.+) only.", "What follows in this section concerns (.+).",
          "The scope of this section is (.+).", "The floor was given to (.+).", "(.+) rose to speak.",
          "Next to speak was (.+).", r"\| ([^|]+) \| \| \|")
PERIODS = (r"This [\w ]+ is the one for (.+).", "It applies to (.+) only.")
DEFINITIONS = ('"(?P<sign>.+)" means (?P<thing>.+).', 'The term "(?P<sign>.+)" stands for (?P<thing>.+).',
               '(?P<thing>.+) is called "(?P<sign>.+)".', "A fault at (?P<thing>.+) brought on (?P<sign>.+).",
               "What led to (?P<sign>.+) was a fault at (?P<thing>.+).",
               "(?P<sign>.+) came about through a fault at (?P<thing>.+).")
PAIRS = ("Next come (.+) and (.+), in this order.", "(.+) is treated together with (.+) here.")
CASES = ("An exception holds if (.+); the next figure then takes the place of the rule.",
         "Where (.+), the rule gives way to the following.")


@dataclass(frozen=True)
class Fact:
    """An answer sentence: every key must be in the query; `since` and `until` bound its month, if it names one."""

    keys: tuple[str, ...]
    span: Span
    since: int | None = None
    until: int | None = None

    def answers(self, query: str) -> bool:
        if not all(key in query for key in self.keys):
            return False
        if self.since is None:
            return True
        date = DATE.search(query)
        return date is not None and self.since <= months(*date.groups()) < (self.until or 10**6)


def months(month: str, year: str) -> int:
    return 12 * int(year) + MONTHS.index(month)


def sentences(text: str) -> Iterator[Span]:
    """Lines, cut after full stops that a space follows."""
    for line in re.finditer(r"[^\n]+", text):
        start = line.start()
        for stop in re.finditer(r"(?<=\.) ", line[0]):
            yield start, line.start() + stop.start()
            start = line.start() + stop.end()
        yield start, line.end()


def read(text: str) -> list[Fact]:
    """The facts that a document states, each with all that tells it from its siblings."""
    reading = _Reading()
    for start, end in sentences(text):
        reading.take(text[start:end], (start, end))
    return reading.dated()


def best(query: str, facts: Iterable[Fact]) -> Fact | None:
    """The fact that answers the query by the most; an exception outdoes its rule."""
    found = [fact for fact in facts if fact.answers(query)]
    return max(found, key=lambda fact: sum(map(len, fact.keys)), default=None)


class _Reading:
    """What is known so far: whose document it is, what its signs stand for, what the passage is about."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.whose: tuple[str, ...] = ()
        self.signs: dict[str, str] = {}
        self.about: tuple[str, ...] = ()
        self.listed = 0
        self.since: int | None = None

    def take(self, sentence: str, span: Span) -> None:
        before, is_answer = _answer(sentence)
        if is_answer:
            told = (self.signs[before],) if before in self.signs else self.about
            self.facts.append(Fact((*self.whose, *told), span, self.since))
        elif sentence.startswith("- "):
            self.listed += 1
            self.signs[ORDINALS[self.listed - 1]] = sentence[2:]
        elif match := _match(PAIRS, sentence):
            self.signs |= {"former": match[1], "latter": match[2]}
        elif match := _match(("This leaves (.+).",), sentence):
            self.signs["it"] = match[1]
        elif match := _match(DEFINITIONS, sentence):
            sign = match["sign"]
            self.signs[sign[0].lower() + sign[1:] if sign.startswith("The ") else sign] = match["thing"]
        elif match := _match(SCOPES, sentence) or _match(CASES, sentence):
            self.about = (match[1],)
        elif (match := DATE.search(sentence)) and ("came into force" in sentence or "was changed" in sentence):
            self.since = months(*match.groups())
        elif match := _match(PERIODS, sentence) or _match(_holders(), sentence):
            self.whose = (*self.whose, next(name for name in match.groups() if name))
        elif sentence in _parts():
            self.about = (_parts()[sentence],)

    def dated(self) -> list[Fact]:
        """A fact holds until the next change."""
        untils = [fact.since for fact in self.facts[1:]] + [None]
        return [Fact(fact.keys, fact.span, fact.since, until) for fact, until in zip(self.facts, untils)]


def _match(forms: Iterable[str], sentence: str) -> re.Match[str] | None:
    return next((match for form in forms if (match := _pattern(form).fullmatch(sentence))), None)


@cache
def _pattern(form: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\.$", r"\\.", form))


@cache
def _holders() -> tuple[str, ...]:
    return tuple(form.replace("{name}", "(.+)") for table in TABLES for form in table.holder)


@cache
def _parts() -> dict[str, str]:
    return {heading: phrase for table in TABLES for heading, phrase in table.parts.items()}


@cache
def _answers() -> re.Pattern[str]:
    """Any domain's answer sentence or table row, after an opening phrase or without one."""
    shapes = {shape for table in TABLES for attribute in table.attributes for shape in attribute.shapes}
    rows = {f"| | {attribute.label} | {{value}} |" for table in TABLES for attribute in table.attributes}
    clauses = [rf"(?i:{re.escape(shape[0])}){re.escape(shape[1:])}\." for shape in sorted(shapes)]
    forms = "|".join([*clauses, *map(re.escape, sorted(rows))]).replace(r"\{value\}", r"[\d,]+")
    forms = forms.replace(r"(?i:\{)value\}", r"[\d,]+")
    return re.compile(rf"(?:(?:For|After) (?P<sign>[^,]+), |As I see it, )?(?:{forms})")


def _answer(sentence: str) -> tuple[str | None, bool]:
    """The sign that an answer sentence opens with, its noun dropped from an ordinal; and whether it is one."""
    match = _answers().fullmatch(sentence)
    sign = match and match["sign"]
    if sign and sign.startswith("the ") and sign.split()[1] in (*ORDINALS, "former", "latter"):
        sign = sign.split()[1]
    return sign, match is not None
