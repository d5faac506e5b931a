"""`stockpot plan | sweep | ui | sync`: a sweep before, while and after it runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stockpot import output

if TYPE_CHECKING:
    from sweeps.noise import Noise
    from sweeps.plan import Plan

SweepFile = Annotated[Path, typer.Argument(metavar="SWEEP.yaml", help="The sweep; examples/ has commented ones.")]
SweepFolder = Annotated[Path, typer.Argument(metavar="SWEEP_DIR", help="Folder of a sweep (the --out of `stockpot sweep` or `demo`).")]
NoiseFile = Annotated[Path | None, typer.Option("--noise", metavar="DIR", help="What `stockpot noise` wrote, its folder or its noise.json: results within it are shown as ties.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, for scripts.")]


def register(app: typer.Typer) -> None:
    for command in (plan, sweep, ui, sync):
        app.command()(command)


def plan(
    file: SweepFile,
    probe: Annotated[bool, typer.Option("--probe", help="Time a short trial of the default setting first: minutes that make the estimate right.")] = False,
    noise: NoiseFile = None,
    json_output: Json = False,
) -> None:
    """Says what a sweep would do, or everything that is wrong with it at once; starts nothing (but see --probe).

    Where RAY_ADDRESS names a cluster, its nodes are asked what they hold.
    """
    from sweeps.machines import ray_machines
    from sweeps.plan_file import plan_file
    from sweeps.warm_start import read_sources

    address = os.environ.get("RAY_ADDRESS")
    planned = plan_file(file, lambda: ray_machines(address) if address else None)
    known, earlier = _noise(noise, planned), []
    read_sources(planned.config, planned.data, earlier.append)
    if probe:
        from sweeps.probe import probed

        planned = probed(planned, lambda line: output.progress.print(line, markup=False, soft_wrap=True))
    if json_output:
        output.print_json(planned.json() | ({"warm_start": earlier} if earlier else {}) | ({"noise": known.json()} if known else {}))
        return
    for line in [*planned.lines(), *earlier, *(known.lines(planned.config.search.objectives) if known else ())]:
        typer.echo(line)


def sweep(
    file: SweepFile,
    out: Annotated[Path | None, typer.Option(help="Folder for everything the sweep makes; runs/NAME by default.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the sweep in the folder; finished trials are not repeated.")] = False,
    or_start: Annotated[bool, typer.Option("--or-start", help="With --resume, for scripts that run again: begin where the folder holds no sweep yet.")] = False,
    allow_changed_code: Annotated[bool, typer.Option("--allow-changed-code", help="Resume although stockpot's own code has changed.")] = False,
    yes: Annotated[str | None, typer.Option(metavar="PLAN", help="For scripts: the 12 digits that `stockpot plan` printed; refused where the plan changed since.")] = None,
    noise: NoiseFile = None,
    json_output: Json = False,
) -> None:
    """Trains, evaluates, logs and soups: the whole sweep. Prints its table; `stockpot ui` shows it in MLflow."""
    from corpora.errors import InputError, Problem
    from stockpot.places import runs_folder
    from stockpot.whole_sweep import run_whole_sweep
    from sweeps.plan_file import plan_file
    from sweeps.plan_hash import check_plan
    from sweeps.sweep_folder import check_begun

    if or_start and not resume:
        raise InputError(Problem("--or-start", "goes with --resume: on its own `sweep` starts a sweep anyway"))
    planned = plan_file(file)  # refuses everything that is wrong before anything is written
    loaded = planned.config
    if yes is not None:
        check_plan(yes, planned.name)
    known, folder = _noise(noise, planned), out or runs_folder(loaded.name)
    if resume and not or_start:
        check_begun(folder, loaded.storage, output.say)
    run_whole_sweep(loaded, folder, resume, allow_changed_code, json_output, noise=known)


def ui(
    folder: SweepFolder = Path("runs/demo"),
    host: Annotated[str, typer.Option(help="Address to listen on; loopback unless told otherwise.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port; 5000 by default, or a free one where that is taken.")] = None,
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
    from corpora.errors import InputError, Problem
    from sweeps.ledger import Ledger
    from sweeps.mlflow_store import sqlite_file, uri_problem
    from sweeps.projector import sync

    if problem := uri_problem(uri):
        raise InputError(Problem("--uri", problem))
    if (file := sqlite_file(uri or "")) and not file.parent.is_dir():
        raise InputError(Problem("--uri", f"{file.parent} is no folder: a typing mistake would leave MLflow's tables there"))
    config = Ledger.open(folder).state().sweep["config"].get("mlflow") or {}
    places = sync(folder, uri or config.get("uri"), config.get("experiment"))
    if json_output:
        output.print_json(places)
    else:
        typer.echo(f"{len(places['runs'])} trials in experiment {places['experiment']!r} of {places['uri']}")


def _noise(path: Path | None, planned: Plan) -> Noise | None:
    """What `--noise` names, where it speaks of the planned dev split."""
    from sweeps.noise import read_noise

    if path is None:
        return None
    known = read_noise(path)
    known.check(planned.data, planned.config.evaluation.chunking)
    return known
