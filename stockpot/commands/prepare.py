"""`stockpot prepare`: what all trials of a sweep share, made before it starts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stockpot import output
from stockpot.commands.sweep import Json, SweepFile


def register(app: typer.Typer) -> None:
    app.command()(prepare)


def prepare(
    file: SweepFile,
    out: Annotated[Path | None, typer.Option(help="The sweep's folder; runs/NAME by default, as `stockpot sweep` has it.")] = None,
    json_output: Json = False,
) -> None:
    """Cuts the splits, builds base+, tokenises, asks the teacher: `stockpot sweep` with the same --out then starts at once.

    What is there already is kept, so asking twice costs nothing. Worth a node without accelerators
    where tokenising is long, or one with them where the teacher is.
    """
    from stockpot.places import runs_folder
    from sweeps.plan_file import plan_file
    from sweeps.runner import Sweep

    loaded = plan_file(file).config  # refuses everything that is wrong before anything is written
    folder = (out or runs_folder(loaded.name)).absolute()
    made = Sweep(loaded, folder, lambda line: output.progress.print(line, markup=False, soft_wrap=True)).prepare()
    places = {"sweep": str(folder), "base": str(made.base), "data": str(made.data), "inline": str(made.inline)}
    splits = {split: [str(place) for place in found] for split, found in made.splits.items()}
    if json_output:
        output.print_json({**places, "splits": splits, "hashes": made.hashes})
        return
    for name, place in places.items():
        typer.echo(f"{name}: {place}")
    for split, found in splits.items():
        typer.echo(f"{split}: {', '.join(found)} ({made.hashes[split][:12]})")
