"""A sweep and its soup, as `stockpot sweep` and `stockpot demo` run them, with the words for the user."""

from __future__ import annotations

from pathlib import Path

import typer

from corpora.errors import FAILED
from stockpot import output
from stockpot.contract import soup_object, sweep_object
from stockpot.progress import Progress
from stockpot.table import sweep_table
from sweeps.config import SweepConfig
from sweeps.ledger_state import LedgerState
from sweeps.noise import Noise, noise_of
from sweeps.runner import Sweep
from sweeps.sweep_folder import check_unused


def run_whole_sweep(
    config: SweepConfig, out: Path, resume: bool, allow_changed_code: bool, json_output: bool, demo: bool = False,
    noise: Noise | None = None,
) -> None:
    """Trains, evaluates, logs, soups; the table on stdout, or one JSON object. `noise` is kept in the sweep's folder."""
    folder = out.absolute()
    check_unused(folder)
    if noise and (resume or not (folder / "ledger" / "events").exists()):  # another sweep's folder is refused below
        noise.write(folder)
    with Progress(folder) as progress:
        run = Sweep(config, folder, progress.say)
        state = run.run(resume, allow_changed_code)
    for what, reason in run.failures.items():
        output.say(f"not evaluated: {what} ({reason}); --resume tries again")
    if json_output:
        output.print_json(sweep_object(folder, state, run.places))
    else:
        _tell(state, folder, config, demo)
    if run.failures:
        raise typer.Exit(FAILED)


def _tell(state: LedgerState, folder: Path, config: SweepConfig, demo: bool) -> None:
    """The table on stdout, then what ships, and how to look at it."""
    sweep_table(state, noise_of(folder))
    if demo:
        _explain_demo(folder, config)
    shipped = soup_object(folder, state)
    if shipped:
        output.say(f"ships: {shipped['folder']}\n  {shipped['decision']}: {shipped['reason']}")
    output.say(f"look:  stockpot ui {_shown(folder)}\nscore: stockpot evaluate CHECKPOINT --corpus DIR")


def _explain_demo(folder: Path, config: SweepConfig) -> None:
    """What the numbers stand on: the chance of a lucky guess, and who the teacher is."""
    from corpora import native
    from corpora.generator import chance

    dev = native.read(folder / "corpora" / "dev")
    by_luck = ", ".join(f"Answer@{k} {100 * chance(dev, k):.1f}%" for k in (1, 10))
    output.progress.print(
        f"chance, K over a family's answer candidates: {by_luck}. The teacher `{config.teacher.kind}` is made from the "
        "labels, smoothed and noisy: it stands in for a compression model.",
        markup=False,
    )


def _shown(folder: Path) -> str:
    """The folder as the user would type it."""
    return str(folder.relative_to(Path.cwd())) if folder.is_relative_to(Path.cwd()) else str(folder)
