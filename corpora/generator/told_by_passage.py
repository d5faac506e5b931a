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
