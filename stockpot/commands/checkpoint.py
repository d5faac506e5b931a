"""`stockpot checkpoint show | verify | pin | unpin`: what a checkpoint is, whether its bytes are whole, whether it stays."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corpora.errors import InputError
from stockpot import output

app = typer.Typer(no_args_is_help=True, help="Look at a checkpoint: what it is, and whether its bytes are whole.")
Folder = Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="Folder of a checkpoint, a soup or a base+.")]


@app.command()
def show(folder: Folder) -> None:
    """Prints the manifest: base+, recipe, step, seed, tokenizer, checksums."""
    from trainables import checkpoints

    output.print_json(checkpoints.manifest(folder).model_dump(mode="json"))


@app.command()
def verify(folder: Folder) -> None:
    """Checks every file against the manifest's SHA-256."""
    from trainables import checkpoints

    problems = checkpoints.verify(folder)
    if problems:
        raise InputError(problems)
    typer.echo(f"{folder}: whole, every file as its manifest says")


@app.command()
def pin(folder: Folder) -> None:
    """Keeps a checkpoint from `stockpot gc`, until it is unpinned."""
    from sweeps import gc

    gc.pin(folder)
    typer.echo(f"{folder}: pinned")


@app.command()
def unpin(folder: Folder) -> None:
    """Lets `stockpot gc` judge the checkpoint as any other."""
    from sweeps import gc

    gc.unpin(folder)
    typer.echo(f"{folder}: no longer pinned")
