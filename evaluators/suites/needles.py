"""The needles that come with the suite, and files of one's own: JSONL with the fields of `Needle`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from corpora.errors import InputError, Problem
from corpora.wording import nearest


@dataclass(frozen=True)
class Needle:
    """One fact in two orders, and two questions: one shares its words, one needs a hop of common knowledge."""

    id: str
    category: str
    default: str
    inverted: str
    literal: str
    one_hop: str
    literal_expansion: str = ""
    one_hop_expansion: str = ""
    """Words that are added to the question in the expanded runs; without any the needle has none."""


BUILT_IN = (
    Needle("opera", "place", "Actually, Yuki lives next to the Semper Opera House.",
           "The Semper Opera House is next to where Yuki lives.",
           "Who lives next to the Semper Opera House?", "Which character has been to Dresden?",
           "Semper Opera House Dresden", "Dresden Saxony Germany Semper Opera House"),
    Needle("museum", "place", "In fact, Megan rents a flat across from the Prado Museum.",
           "Across from the Prado Museum is the flat that Megan rents.",
           "Who rents a flat across from the Prado Museum?", "Which character has been to Madrid?",
           "Prado Museum Madrid", "Madrid Spain Prado Museum"),
    Needle("dairy", "diet", "Then Calvin mentioned that he has been lactose intolerant for years.",
           "Lactose intolerant for years: that is what Calvin then mentioned he has been.",
           "Who is lactose intolerant?", "Which character cannot drink milk?",
           "lactose intolerance dairy", "milk dairy lactose intolerant"),
    Needle("meat", "diet", "There was a vegan guest named Katie at the table.",
           "At the table there was a guest, named Katie, who was a vegan.",
           "Which guest was a vegan?", "Which character cannot eat fish?",
           "vegan diet plants", "fish meat vegan vegetarian"),
    Needle("painting", "work", "Diana explained that she restores frescoes by Giotto for a living.",
           "Frescoes by Giotto are what Diana explained she restores for a living.",
           "Who restores frescoes by Giotto?", "Which character works with medieval paintings?",
           "Giotto frescoes restoration", "medieval painting art restorer Giotto"),
    Needle("engine", "work", "Joel said that he spends his days repairing jet engines.",
           "Jet engines are what Joel said he spends his days repairing.",
           "Who repairs jet engines?", "Which character works on aeroplanes?",
           "jet engine repair mechanic", "aeroplane aircraft mechanic jet engine"),
    Needle("asthma", "health", "Caleb never leaves home without his inhaler.",
           "Without his inhaler Caleb never leaves home.",
           "Who carries an inhaler?", "Which character suffers from asthma?",
           "inhaler breathing", "asthma lungs inhaler"),
    Needle("insulin", "health", "Mandy keeps her insulin in the office fridge.",
           "In the office fridge is where Mandy keeps her insulin.",
           "Who keeps insulin in the fridge?", "Which character has diabetes?",
           "insulin fridge", "diabetes blood sugar insulin"),
)


def read(path: Path) -> tuple[Needle, ...]:
    """Needles from a file, or an `InputError` with every wrong line."""
    names = {field.name for field in fields(Needle)}
    optional = {"literal_expansion", "one_hop_expansion"}
    found, problems = _records(path, names, names - optional)
    if not found and not problems:
        problems.append(Problem(str(path), "holds no needles"))
    if problems:
        raise InputError(problems)
    return tuple(Needle(**record) for _, record in found)


def with_expansions(needles: Sequence[Needle], path: Path) -> tuple[Needle, ...]:
    """The needles with the expansions of a file, JSONL: `{"id": needle, "literal_expansion"?, "one_hop_expansion"?}`;
    needles that it leaves out have none."""
    optional = {"literal_expansion", "one_hop_expansion"}
    found, problems = _records(path, {"id"} | optional, {"id"})
    known = [needle.id for needle in needles]
    problems += [Problem(f"{path}:{number}", f"no needle is called {record['id']!r}{nearest(record['id'], known)}")
                 for number, record in found if record["id"] not in known]
    if problems:
        raise InputError(problems)
    given = {record["id"]: record for _, record in found}
    nothing = dict.fromkeys(optional, "")
    return tuple(replace(needle, **{**nothing, **given.get(needle.id, {})}) for needle in needles)


def _records(path: Path, names: set[str], needed: set[str]) -> tuple[list[tuple[int, dict[str, str]]], list[Problem]]:
    """(line number, record) of each line that has all fields `needed`, none but `names`, and texts in them."""
    found, problems = [], []
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Problem(str(path), f"cannot be read: {error}")) from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            problems.append(Problem(f"{path}:{number}", f"is not JSON: {error}"))
            continue
        given = set(record) if isinstance(record, dict) else set()
        if not needed <= given <= names or not all(isinstance(each, str) and each for each in record.values()):
            problems.append(Problem(f"{path}:{number}", f"expected texts for {', '.join(sorted(needed))}; "
                                    f"{', '.join(sorted(names - needed))} may be left out"))
            continue
        found.append((number, record))
    return found, problems
