"""Abilities whose telling context stands once, at the head of the document (and again at its foot)."""

from corpora.generator.scene import Scene, group


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
