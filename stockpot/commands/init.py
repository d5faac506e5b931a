"""`stockpot init`: the first sweep file on one's own corpus."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from corpora.errors import InputError, Problem
from stockpot import output
from stockpot.options import check_target


def register(app: typer.Typer) -> None:
    app.command()(init)


def init(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="What to write.")] = Path("sweep.yaml"),
    corpus: Annotated[Path | None, typer.Option(help="Corpus folder, to be cut into train, dev and confirm; the built-in corpus without.")] = None,
    train: Annotated[Path | None, typer.Option(help="Corpus to train on; with --dev, or beside --corpus.")] = None,
    dev: Annotated[list[Path] | None, typer.Option(help="Corpus that the search judges by; may be repeated.")] = None,
    confirm: Annotated[list[Path] | None, typer.Option(help="Corpus that soups are certified on; may be repeated.")] = None,
    encoder: Annotated[str | None, typer.Option(help="`minilm`, or a folder with a transformers encoder.")] = None,
    teacher: Annotated[str | None, typer.Option(help="spans, late-interaction[:DIR], token-classifier:DIR or file:SCORES.parquet.")] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Trials proposed; 8 by default.")] = None,
    slots: Annotated[int | None, typer.Option(min=1, help="Trials at a time; 2 by default.")] = None,
    gpus: Annotated[float | None, typer.Option(min=0, help="GPUs of one trial; 0 by default.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Optimiser steps of a trial; by the documents' length by default.")] = None,
    name: Annotated[str | None, typer.Option(help="The sweep's name; the corpus folder's by default.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of a sweep, for editors, and write nothing.")] = False,
    json_output: Annotated[bool, typer.Option("--json", help="One JSON object on stdout, for scripts.")] = False,
) -> None:
    """Writes a commented sweep for a corpus, and says in its comments why each value was chosen.

    It looks at the corpus: languages, lengths, labels, families, chunks. On a terminal it asks what no option
    says. What it writes passes `stockpot plan`.
    """
    from sweeps.schema import schema_text

    if schema:
        sys.stdout.write(schema_text())
        return
    from sweeps.init_file import write_init

    check_target("FILE", file)
    if not file.absolute().parent.is_dir():
        raise InputError(Problem("FILE", f"{file} cannot be written: there is no folder {file.absolute().parent}"))
    from sweeps.init_wishes import Wishes

    asks = sys.stdin.isatty() and not json_output
    if asks and not (corpus or train):
        given = typer.prompt("Folder of your corpus (empty: the built-in one)", default="", show_default=False, err=True)
        corpus = Path(given) if given.strip() else None
    answers = {
        "encoder": _asked("Encoder: minilm, or a folder", encoder, "minilm", asks),
        "teacher": _asked("Teacher: spans, late-interaction, token-classifier:DIR, file:PARQUET", teacher, "spans", asks),
        "trials": _asked("Trials", trials, 8, asks),
        "slots": _asked("Trials at a time", slots, 2, asks),
        "gpus": _asked("GPUs of one trial", gpus, 0.0, asks),
    }
    wishes = Wishes(name=name, corpus=corpus, train=train, dev=tuple(dev or ()), confirm=tuple(confirm or ()), steps=steps, **answers)
    planned = write_init(wishes, file, force)
    if json_output:
        output.print_json({"file": str(file.absolute()), **planned.json()})
        return
    typer.echo(file)
    output.progress.print(f"look:  stockpot plan {file}\nrun:   stockpot sweep {file}", markup=False, soft_wrap=True)


def _asked(question: str, given: object, default: object, asks: bool) -> object:
    """The option where it was given, else the answer to a question, else the default."""
    if given is not None or not asks:
        return default if given is None else given
    return typer.prompt(question, default=default, err=True)
