"""`stockpot plan | sweep | status | ui | sync`: a sweep before, while and after it runs."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from stockpot import output

SweepFile = Annotated[Path, typer.Argument(metavar="SWEEP.yaml", help="The sweep; examples/ has commented ones.")]
SweepFolder = Annotated[Path, typer.Argument(metavar="SWEEP_DIR", help="Folder of a sweep (the --out of `stockpot sweep` or `demo`).")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, for scripts.")]


def register(app: typer.Typer) -> None:
    for command in (plan, sweep, status, ui, sync):
        app.command()(command)


def plan(file: SweepFile, json_output: Json = False) -> None:
    """Says what a sweep would do, or everything that is wrong with it at once; starts nothing.

    Where RAY_ADDRESS names a cluster, its nodes are asked what they hold.
    """
    from sweeps import config, plan
    from sweeps.machines import ray_machines

    address = os.environ.get("RAY_ADDRESS")
    planned = plan.plan(config.load(file), ray_machines(address) if address else None)
    if json_output:
        output.print_json(planned.json())
    else:
        for line in planned.lines():
            typer.echo(line)


def sweep(
    file: SweepFile,
    out: Annotated[Path | None, typer.Option(help="Folder for everything the sweep makes; runs/NAME by default.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the sweep in the folder; finished trials are not repeated.")] = False,
    allow_changed_code: Annotated[bool, typer.Option("--allow-changed-code", help="Resume although stockpot's own code has changed.")] = False,
    yes: Annotated[str | None, typer.Option(metavar="PLAN", help="For scripts: the 12 digits that `stockpot plan` printed; refused where the plan changed since.")] = None,
    json_output: Json = False,
) -> None:
    """Trains, evaluates, logs and soups: the whole sweep. Prints its table; `stockpot ui` shows it in MLflow."""
    from stockpot.places import runs_folder
    from stockpot.whole_sweep import run_whole_sweep
    from sweeps import config, plan
    from sweeps.plan_hash import check_plan

    loaded = config.load(file)
    planned = plan.plan(loaded)  # refuses everything that is wrong before anything is written
    if yes is not None:
        check_plan(yes, planned.name)
    run_whole_sweep(loaded, out or runs_folder(loaded.name), resume, allow_changed_code, json_output)


def status(folder: SweepFolder, json_output: Json = False) -> None:
    """Shows how far a sweep is, from any terminal."""
    from stockpot.contract import sweep_object
    from stockpot.progress import headline
    from stockpot.table import sweep_table
    from sweeps.config import SweepConfig
    from sweeps.ledger import Ledger

    state = Ledger.open(folder).state()
    if json_output:
        output.print_json(sweep_object(folder.absolute(), state, {}))
        return
    typer.echo(f"{state.sweep['name']}: {state.status}{f' ({state.reason})' if state.reason else ''}")
    typer.echo(headline(state, SweepConfig.model_validate(state.sweep["config"]), time.time()))
    sweep_table(state)


def ui(
    folder: SweepFolder = Path("runs/demo"),
    host: Annotated[str, typer.Option(help="Address to listen on; loopback unless told otherwise.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; a free one is taken where it is busy.")] = 5000,
) -> None:
    """Opens the MLflow UI on a sweep's store, on loopback, until Ctrl-C."""
    from sweeps import ui

    ui.ui(folder, host, port)


def sync(
    folder: SweepFolder,
    uri: Annotated[str | None, typer.Option(help="Tracking server or store; the sweep's own by default.")] = None,
    json_output: Json = False,
) -> None:
    """Rebuilds MLflow from the ledger, into the sweep's own store or any server; doubles nothing."""
    from sweeps.ledger import Ledger
    from sweeps.projector import sync

    config = Ledger.open(folder).state().sweep["config"]["mlflow"]
    places = sync(folder, uri or config["uri"], config["experiment"])
    if json_output:
        output.print_json(places)
    else:
        typer.echo(f"{len(places['runs'])} trials in experiment {places['experiment']!r} of {places['uri']}")
