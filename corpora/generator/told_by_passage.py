"""Abilities whose telling context stands in the passage before the answer."""

from corpora.generator.scene import Scene, group


def section_scope(scene: Scene) -> None:
    """Numbered sections, each of which opens with the thing that it applies to."""
    scene.open()
    scene.fill()
    for number, unit in enumerate(scene.units(), 1):
        scene.page.heading(f"Section {number}")
        forms = (f"This section applies to {unit} only.", f"What follows in this section concerns {unit}.",
                 f"The scope of this section is {unit}.")
        scope = scene.page.sentence(forms[scene.rng.integers(len(forms))])
        scene.fill()
        scene.ask(unit, scene.answer(), group(scope))


def references_and_pronouns(scene: Scene) -> None:
    """Two things are brought in by name, then spoken of as the former and the latter; one left over is "it"."""
    units = scene.units()
    scene.open()
    for first, second in zip(units[::2], units[1::2]):
        scene.page.paragraph()
        forms = (f"Next come {first} and {second}, in this order.", f"{first} is treated together with {second} here.")
        brought = scene.page.sentence(forms[scene.rng.integers(len(forms))])
        for unit, word in scene.shuffled([(first, "former"), (second, "latter")]):
            scene.fill()
            scene.ask(unit, scene.answer(f"for the {word}, "), group(brought))
    if len(units) % 2:
        scene.page.paragraph()
        brought = scene.page.sentence(f"This leaves {units[-1]}.")
        scene.fill()
        scene.ask(units[-1], scene.answer("for it, "), group(brought))


def table_structure(scene: Scene) -> None:
    """Rows under block headers: the header row of a block names the thing, the value's row only the attribute.

    A blank line stands between rows, as where a table was read out of a page, so each row is a sentence.
    """
    domain = scene.domain
    scene.open()
    scene.page.heading(f"Table of {domain.units}")
    scene.page.heading(f"| {domain.unit} | item | value |")
    for unit in scene.units():
        header = scene.page.heading(f"| {unit} | | |")
        for note in scene.gap():
            scene.page.heading(f"| | note | {note} |")
        row = scene.page.heading(f"| | {scene.family.attribute.label} | {scene.value()} |")
        scene.ask(unit, row, group(header))


def speaker_identity(scene: Scene) -> None:
    """Speakers take the floor by name; what they then say in the first person names nobody."""
    scene.open()
    for _ in range(scene.family.items):
        speaker = scene.name("person")
        scene.page.paragraph()
        forms = (f"The floor was given to {speaker}.", f"{speaker} rose to speak.", f"Next to speak was {speaker}.")
        told = scene.page.sentence(forms[scene.rng.integers(len(forms))])
        scene.fill()
        scene.ask(scene.domain.whole, scene.answer("as I see it, "), group(told), after=f" in the view of {speaker}")
