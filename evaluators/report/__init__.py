"""What an evaluation found, as one page: `report.md` with its figures beside it, and `report.html`, whole in one file."""

from __future__ import annotations

from evaluators.report.write import write_report

__all__ = ["write_report"]
