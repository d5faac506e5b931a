"""`stockpot gc`: a sweep's disk given back, after saying what goes and why the rest stays."""

from __future__ import annotations

import time
from collections import Counter
from typing import Annotated

import typer

from stockpot import output
from stockpot.commands.sweep import Json, SweepFolder


def register(app: typer.Typer) -> None:
    app.command()(gc)


def gc(
    folder: SweepFolder,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted; also while the sweep runs.")] = False,
    keep: Annotated[int, typer.Option(min=0, help="How many of the best checkpoints stay, by each objective and by the soup's merit.")] = 10,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
    json_output: Json = False,
) -> None:
    """Deletes checkpoints that nothing needs any more, and says why each other one is kept.

    Kept: those of trials under way, on the Pareto front of dev, among the best that a soup may want,
    ingredients of what shipped, not evaluated yet, and pinned ones (`stockpot checkpoint pin`). Scores of
    deleted checkpoints stay in the ledger; optimiser states of ended trials and soups that did not ship go too.
    """
    from contextlib import nullcontext

    from sweeps.gc import collect, survey
    from sweeps.leased import leased
    from sweeps.ledger import Ledger

    folder = folder.absolute()
    Ledger.open(folder)  # says so where there is no sweep, before anything is written
    with nullcontext() if dry_run else leased(folder, time.time):
        ledger = Ledger.open(folder, write=not dry_run)
        found = survey(folder, ledger.state(), keep)
        if not json_output:
            _show(found)
        if not dry_run and found.removable:
            if not yes:
                typer.confirm(f"Delete {len(found.removable)} folders, {_shown(found.bytes)}?", abort=True, err=True)
            collect(folder, ledger, found, time.time)
    if json_output:
        output.print_json({
            "sweep": str(folder), "deleted": not dry_run, "bytes": found.bytes,
            "removable": [item.json() for item in found.removable], "kept": [item.json() for item in found.kept],
        })  # fmt: skip
    elif not dry_run:
        typer.echo(f"deleted {len(found.removable)} folders, {_shown(found.bytes)}")


def _show(found) -> None:
    for title, items in (("to delete", found.removable), ("kept", found.kept)):
        if items:
            size = _shown(sum(item.bytes for item in items))
            output.print_table(f"{title}: {len(items)} folders, {size}", ["folder", "what", "size", "why"],
                               [[item.folder, item.what, _shown(item.bytes), item.reason] for item in items])  # fmt: skip
    if not found.removable:
        kinds = Counter(item.reason for item in found.kept)
        typer.echo("nothing to delete: " + ("; ".join(f"{count} {reason}" for reason, count in kinds.items()) or "the sweep has no checkpoint"))


def _shown(size: int) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
