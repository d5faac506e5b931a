"""Abilities whose telling context stands in a legend: the answer sentence names the legend's sign only."""

from corpora.generator.scene import ORDINALS, Scene, capital, group


def definitions_and_aliases(scene: Scene) -> None:
    """Signs that every sibling uses and each defines anew; the query knows the thing, not the sign."""
    domain, units = scene.domain, scene.units()
    signs = [f"{domain.alias} {letter}" for letter in "ABCDEFGHIJ"[: len(units)]]
    scene.open()
    scene.page.paragraph()
    forms = ('"{sign}" means {unit}.', 'The term "{sign}" stands for {unit}.', '{unit} is called "{sign}".')
    form = forms[scene.family.style % len(forms)]
    defined = [scene.page.sentence(form.format(sign=sign, unit=unit)) for sign, unit in zip(signs, units)]
    scene.page.paragraph()
    for place in scene.shuffled(list(range(len(units)))):
        scene.fill()
        scene.ask(units[place], scene.answer(f"for {signs[place]}, "), group(defined[place]))


def list_order_and_position(scene: Scene) -> None:
    """A list gives each thing its place; the answers say "the third"."""
    domain, units = scene.domain, scene.units()
    scene.open()
    scene.page.paragraph()
    intro = scene.page.sentence(f"The {domain.units} are taken in the order of this list.")
    scene.page.paragraph()
    lines = [scene.page.line(f"- {unit}") for unit in units]
    scene.page.paragraph()
    for place in scene.shuffled(list(range(len(units)))):
        scene.fill()
        answer = scene.answer(f"for the {ORDINALS[place]} {domain.unit}, ")
        scene.ask(units[place], answer, group(tuple(lines[: place + 1])), group(intro))


def cause_and_effect(scene: Scene) -> None:
    """What brought on what stands first; the answers know the effect, the query only the cause."""
    domain, units = scene.domain, scene.units()
    effects = scene.shuffled(list(scene.family.effects))
    scene.open()
    scene.page.paragraph()
    forms = ("A fault at {unit} brought on {effect}.", "What led to {effect} was a fault at {unit}.",
             "{effect} came about through a fault at {unit}.")
    causes = [scene.page.sentence(capital(forms[scene.rng.integers(len(forms))].format(unit=unit, effect=effect)))
              for unit, effect in zip(units, effects)]
    scene.page.paragraph()
    for place in scene.shuffled(list(range(len(units)))):
        scene.fill()
        answer = scene.answer(f"after {effects[place]}, ")
        scene.ask(domain.whole, answer, group(causes[place]), after=f" as a result of the fault at {units[place]}")
