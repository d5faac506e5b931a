"""What an evaluation found, as a page: `report.md` with its figures beside it, `report.html` whole in one file."""

from __future__ import annotations

from evaluators.report.write import write_report

__all__ = ["write_report"]
