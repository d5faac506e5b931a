"""Every domain that the generator can write in, by name; translations beside the English table."""

from corpora.generator import tables_contracts, tables_procedures, tables_reports
from corpora.generator.abilities import CROSS_LINGUAL
from corpora.generator.domains import Domain
from corpora.generator.tables_french import FRENCH
from corpora.generator.tables_german import GERMAN
from corpora.generator.tables_italian import ITALIAN
from corpora.generator.tables_spanish import SPANISH

DOMAINS: dict[str, Domain] = {
    domain.name: domain
    for domain in (
        tables_contracts.LEASES, tables_procedures.MANUALS, tables_reports.FILINGS, tables_procedures.PROTOCOLS,
        tables_reports.MINUTES, tables_contracts.POLICIES, tables_contracts.CHARTERS, tables_procedures.GRANTS,
        tables_reports.INSPECTIONS,
    )
}

TRANSLATED: tuple[Domain, ...] = tuple(table for tables in zip(GERMAN, FRENCH, SPANISH, ITALIAN) for table in tables)


def tables(ability: str, domains: tuple[str, ...]) -> list[Domain]:
    """The tables of these domains that an ability can be written with, in the order of `domains`."""
    if ability == CROSS_LINGUAL:
        return [table for table in TRANSLATED if table.name in domains]
    return [DOMAINS[name] for name in domains]
