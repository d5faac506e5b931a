"""`stockpot noise`: what this dev split can tell from chance, before a night is spent on it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stockpot import output
from stockpot.commands.sweep import Json, SweepFile


def register(app: typer.Typer) -> None:
    app.command()(noise)


def noise(
    file: SweepFile,
    replicates: Annotated[int, typer.Option(min=2, help="Runs of the default setting, each under a seed of its own.")] = 3,
    out: Annotated[Path | None, typer.Option(help="Folder for the replicates and noise.json; runs/NAME-noise by default.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the replicates in the folder.")] = False,
    json_output: Json = False,
) -> None:
    """Trains the default setting under several seeds, and states the smallest gain that dev can tell from chance.

    The default setting has every searched field at the recipe's default where the search allows it, else at the
    middle. Give the result to `stockpot plan --noise` and `stockpot sweep --noise`: differences below it are then
    shown as ties.
    """
    from stockpot.places import runs_folder
    from stockpot.progress import Progress
    from stockpot.table import noise_table
    from sweeps import config
    from sweeps.noise_sweep import measure_noise, replicates_config
    from sweeps.plan_file import plan_file
    from sweeps.sweep_folder import check_begun

    # Refuses everything that is wrong before anything is written.
    asked = plan_file(file, change=lambda loaded: replicates_config(loaded, replicates)).config
    loaded = config.load(file)
    folder = (out or runs_folder(f"{loaded.name}-noise")).absolute()
    if resume:
        check_begun(folder, asked.storage, output.say)
    with Progress(folder) as progress:
        found = measure_noise(loaded, folder, replicates, progress.say, resume)
    if json_output:
        output.print_json({"folder": str(folder), **found.json()})
        return
    noise_table(found, loaded.search.objectives)
    output.progress.print(f"use:  stockpot sweep {file} --noise {folder}", markup=False, soft_wrap=True)
