"""The abilities by name, in the order of DESIGN section 4: each writes one sibling of a family."""

from collections.abc import Callable

from corpora.generator import told_by_head, told_by_legend, told_by_passage
from corpora.generator.scene import Scene

CROSS_LINGUAL = "cross-lingual sense"

ABILITIES: dict[str, Callable[[Scene], None]] = {
    "entity identity": told_by_head.entity_identity,
    "period or version": told_by_head.period_or_version,
    "definitions and aliases": told_by_legend.definitions_and_aliases,
    "table structure": told_by_passage.table_structure,
    "conditions and exceptions": told_by_head.conditions_and_exceptions,
    "references and pronouns": told_by_passage.references_and_pronouns,
    "list order and position": told_by_legend.list_order_and_position,
    "section scope": told_by_passage.section_scope,
    "speaker identity": told_by_passage.speaker_identity,
    "change over time": told_by_head.change_over_time,
    "cause and effect": told_by_legend.cause_and_effect,
    # Told apart as by entity identity; that the document's language is not the query's is the table's doing.
    CROSS_LINGUAL: told_by_head.entity_identity,
}
