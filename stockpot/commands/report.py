"""`stockpot report`: a sweep as one page to send around."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SweepFolder = Annotated[Path, typer.Argument(metavar="SWEEP_DIR", help="Folder of a sweep, finished or still running.")]


def register(app: typer.Typer) -> None:
    app.command()(report)


def report(
    folder: SweepFolder,
    out: Annotated[Path | None, typer.Option(metavar="FILE.html", help="Where to write the page; SWEEP_DIR/report.html by default, made anew.")] = None,
) -> None:
    """Writes the sweep as one static HTML page: figures, trials, what ships with its evidence, ties, failures, config, hashes.

    The page is whole in one file and asks no network, so it can be mailed or archived. While the
    sweep runs it says so, and shows what the ledger holds by then.
    """
    from corpora.files import write_atomically
    from stockpot.options import check_target
    from sweeps.ledger import Ledger
    from sweeps.report import report as page_of

    state = Ledger.open(folder).state()
    target = out or folder / "report.html"
    check_target("--out" if out else "SWEEP_DIR", target)
    write_atomically(target, page_of(state, folder))
    typer.echo(target)
