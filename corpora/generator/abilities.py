"""The abilities by name, in the order of DESIGN section 4: each writes one sibling of a family."""

from collections.abc import Callable

from corpora.generator import told_by_head, told_by_legend, told_by_passage
from corpora.generator.scene import Scene

ABILITIES: dict[str, Callable[[Scene], None]] = {
    "entity identity": told_by_head.entity_identity,
    "period or version": told_by_head.period_or_version,
    "definitions and aliases": told_by_legend.definitions_and_aliases,
    "section scope": told_by_passage.section_scope,
}
