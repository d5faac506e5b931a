"""`stockpot soup`: the model that ships, picked, averaged and certified from a finished sweep."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from corpora.errors import NOT_CERTIFIED
from stockpot import output


def register(app: typer.Typer) -> None:
    app.command()(soup)


def soup(
    folder: Annotated[Path, typer.Argument(metavar="SWEEP_DIR", help="Folder of a sweep whose checkpoints have been evaluated.")],
    json_output: Annotated[bool, typer.Option("--json", help="One JSON object on stdout, for scripts.")] = False,
) -> None:
    """Averages the best checkpoints, certifies the soup on confirm, exports what ships; without Ray.

    Exit code 3: no soup was certifiably better, so the best single checkpoint ships. Asking
    again returns the recorded verdict; a further candidate pays for the repeated look.
    """
    from stockpot.contract import sweep_object
    from sweeps.leased import leased
    from sweeps.ledger import Ledger
    from sweeps.projector import BackgroundProjector
    from sweeps.soup.certify import SOUP
    from sweeps.soup.ship import Kitchen

    def say(what: str) -> None:
        output.progress.print(what, markup=False, soft_wrap=True)

    folder = folder.absolute()
    Ledger.open(folder)  # says so where there is no sweep, before anything is written
    with leased(folder, time.time):
        ledger = Ledger.open(folder, write=True)
        shipped = Kitchen(folder, ledger, time.time, say, threads=os.cpu_count() or 1).ship()
        mlflow = ledger.state().sweep["config"]["mlflow"]
        left = BackgroundProjector(folder, mlflow["uri"], mlflow["experiment"], warn=say, ledger=ledger).close()
    if left.pending:
        say(f"MLflow lacks {len(left.pending)} pages ({left.error}): `stockpot sync {folder}` sends them")
    told = sweep_object(folder, ledger.state(), left.places)
    if json_output:
        output.print_json(told)
    else:
        typer.echo(f"{told['soup']['folder']}\n{shipped['decision']}: {shipped['reason']}")
        for one in told["soup"]["ingredients"]:
            typer.echo(f"  {one['weight']:.3f}  {one['folder']}")
    if shipped["decision"] != SOUP:
        raise typer.Exit(NOT_CERTIFIED)
