"""Abilities whose telling context stands once, at the head of the document (and again at its foot)."""

import numpy as np

from corpora.generator.scene import Scene, group

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")


def entity_identity(scene: Scene) -> None:
    """The same parts in every sibling; whose document it is stands at the head."""
    holder = scene.name(scene.domain.holder_names)
    scene.open()
    head = scene.hold(holder)
    scene.fill()
    parts = list(scene.parts())
    foot = scene.close(holder)
    for phrase, heading, answer in parts:
        scene.ask(f"{phrase} {scene.domain.held.format(name=holder)}", answer, group(head, foot), group(heading))


def period_or_version(scene: Scene) -> None:
    """One holder for the whole family; the siblings are its years or its versions."""
    family, domain = scene.family, scene.domain
    period = family.periods[scene.sibling]
    scene.open()
    head = scene.hold(family.holder)
    forms = (f"This {domain.kind} is the one for {period}.", f"It applies to {period} only.")
    dated = scene.page.sentence(forms[scene.rng.integers(len(forms))])
    scene.fill()
    parts = list(scene.parts())
    scene.page.paragraph()
    foot = scene.page.sentence(f"End of the {domain.kind} for {period}.")
    for phrase, heading, answer in parts:
        scene.ask(f"{phrase} {domain.held.format(name=family.holder)}", answer,
                  group(head), group(dated, foot), group(heading), after=f" in {period}")


def conditions_and_exceptions(scene: Scene) -> None:
    """A rule and its exceptions in answers of one shape; the condition stands before each."""
    holder = scene.name(scene.domain.holder_names)
    scene.open()
    head = scene.hold(holder)
    asked = []
    for place, case in enumerate(scene.shuffled(list(scene.family.cases))):
        scene.page.paragraph()
        if place:
            forms = (f"An exception holds if {case}; the next figure then takes the place of the rule.",
                     f"Where {case}, the rule gives way to the following.")
            told = scene.page.sentence(forms[scene.rng.integers(len(forms))])
        else:
            told = scene.page.sentence("The rule comes first; it holds unless an exception named later applies.")
        scene.fill()
        asked.append((scene.answer(), told, f" if {case}" if place else " if no special circumstances are present"))
    foot = scene.close(holder)
    for answer, told, after in asked:
        scene.ask(_whole(scene, holder), answer, group(head, foot), group(told), after=after)


def change_over_time(scene: Scene) -> None:
    """One fact at several dates; the query's date falls between two of them."""
    holder = scene.name(scene.domain.holder_names)
    scene.open()
    head = scene.hold(holder)
    years = 1960 + 3 * (scene.rng.integers(5) + np.arange(scene.family.items))
    asked = []
    for year in map(int, years):
        month, later = MONTHS[scene.rng.integers(12)], MONTHS[scene.rng.integers(12)]
        date = f"{scene.rng.integers(1, 28)} {month} {year}"
        scene.page.paragraph()
        forms = (f"On {date} a new version came into force.", f"The text was changed on {date}.")
        told = scene.page.sentence(forms[scene.rng.integers(len(forms))])
        scene.fill()
        asked.append((scene.answer(), told, f" in {later} {year + scene.rng.integers(1, 3)}"))
    foot = scene.close(holder)
    for answer, told, after in asked:
        scene.ask(_whole(scene, holder), answer, group(head, foot), group(told), after=after)


def _whole(scene: Scene, holder: str) -> str:
    return f"{scene.domain.whole} {scene.domain.held.format(name=holder)}"
