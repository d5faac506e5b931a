"""Every domain that the generator can write in, by name; translations beside the English table."""

from corpora.generator import tables_contracts, tables_procedures, tables_reports
from corpora.generator.domains import Domain

DOMAINS: dict[str, Domain] = {
    domain.name: domain
    for domain in (
        tables_contracts.LEASES, tables_procedures.MANUALS, tables_reports.FILINGS, tables_procedures.PROTOCOLS,
        tables_reports.MINUTES, tables_contracts.POLICIES, tables_contracts.CHARTERS, tables_procedures.GRANTS,
        tables_reports.INSPECTIONS,
    )
}
