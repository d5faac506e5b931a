"""`stockpot doctor`: whether this machine can run a sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corpora.errors import FAILED
from stockpot import output
from stockpot.commands.sweep import Json


def register(app: typer.Typer) -> None:
    app.command()(doctor)


def doctor(
    file: Annotated[Path | None, typer.Argument(metavar="[SWEEP.yaml]", help="The sweep to be ready for: its encoder, MLflow server and webhook.")] = None,
    out: Annotated[Path, typer.Option(help="Where sweeps will be written.")] = Path("runs"),
    json_output: Json = False,
) -> None:
    """Tries everything that a sweep needs of this machine, and says what to do about what fails.

    Python and packages, torch and its device, memory, disk, the pretrained weights, MLflow's store, Ray (the
    cluster of RAY_ADDRESS, where it is set). Exit code 1 when something is broken.
    """
    from sweeps import config
    from sweeps.doctor import examine

    found = []
    for finding in examine(config.load(file) if file else None, out):
        found.append(finding)
        if not json_output:
            typer.echo(f"{finding.state:8} {finding.what}: {finding.found}" + (f"\n{'':9}{finding.cure}" if finding.cure else ""))
    broken = [finding for finding in found if finding.state == "problem"]
    if json_output:
        output.print_json({"ok": not broken, "findings": [finding.json() for finding in found]})
    elif broken:
        output.progress.print(f"{len(broken)} problems: mend them, then run `stockpot doctor` again", markup=False)
    if broken:
        raise typer.Exit(FAILED)
