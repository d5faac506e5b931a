"""`stockpot status | stop`: a sweep looked at, and ended, from any terminal that sees its folder."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from stockpot import output
from stockpot.commands.submit import Address, answered_there
from stockpot.commands.sweep import Json, SweepFolder

TABLED = 200  # trials up to which `status` prints a row for each


def register(app: typer.Typer) -> None:
    for command in (status, stop):
        app.command()(command)


def status(
    folder: SweepFolder,
    watch: Annotated[bool, typer.Option("--watch", help="A live view until the sweep ends, or Ctrl-C.")] = False,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Shows how far a sweep is, from any terminal, and whether its driver still lives.

    In place of the folder, the name that `stockpot submit` printed asks the cluster.

    Trials by state, pace, time left, the best by each objective, the Pareto front, failures with
    their reasons; then a row a trial. Reads the ledger only: also on a copy of the folder.
    """
    if answered_there(folder, address, ["status", *(["--json"] if json_output else [])]):
        return
    from rich.console import Console

    from stockpot.progress import watch_sweep
    from stockpot.view import state_line, view
    from sweeps.ledger import Ledger
    from sweeps.snapshot import Follower

    if json_output:
        from stockpot.contract import sweep_object

        output.print_json(sweep_object(folder.absolute(), Ledger.open(folder).state(), {}))
        return
    follower = Follower(folder)
    if watch:
        watch_sweep(folder, follower)
    standing, console = follower.standing(), Console(highlight=False, soft_wrap=True)
    tabled = Ledger.open(folder).state() if len(standing.trials) <= TABLED else None  # before a word is said: it may not be readable
    console.print(state_line(standing, folder, time.time()), markup=False)
    console.print(view(standing, time.time(), bar=False), soft_wrap=False)
    if tabled:
        from stockpot.table import sweep_table
        from sweeps.noise import noise_of

        sweep_table(tabled, noise_of(folder))
    else:
        console.print(f"{len(standing.trials)} trials: --json has a row for each")


def stop(
    folder: SweepFolder,
    wait: Annotated[bool, typer.Option("--wait", help="Return when the driver has ended.")] = False,
    address: Address = None,
) -> None:
    """Asks a running sweep to stop: its trials go on to their next checkpoint, then the driver ends.

    From any machine that shares the folder, or by the name that `stockpot submit` printed. `stockpot sweep SWEEP.yaml --resume` goes on from there and
    repeats nothing; Ctrl-C or SIGTERM in the driver's own terminal ends it without waiting for checkpoints.
    """
    if answered_there(folder, address, ["stop", *(["--wait"] if wait else [])]):
        return
    from sweeps.snapshot import Follower
    from sweeps.stopping import request_stop, wait_until_gone

    follower = Follower(folder)
    driver = request_stop(folder, time.time())
    typer.echo(f"asked process {driver.pid} on {driver.host.partition('/')[0]} to stop at its trials' next checkpoints")
    if wait:
        wait_until_gone(folder, driver)
        standing = follower.standing()
        typer.echo(f"{standing.sweep['name']}: {standing.status}{f' ({standing.reason})' if standing.reason else ''}")
