"""Abilities whose telling context stands in a legend: the answer sentence names the legend's sign only."""

from corpora.generator.scene import Scene, group


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
