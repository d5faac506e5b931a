"""How a sweep stands, for a terminal: by state, pace, budget, best, Pareto front, what runs, what failed."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from sweeps.labels import label
from sweeps.lease import holder_of, living_driver
from sweeps.ledger_state import ENDS
from sweeps.standing import Point, Standing, TrialStanding

ROWS = 8  # of a part of the view: what is more is counted


def state_line(standing: Standing, folder: Path, now: float) -> str:
    """`demo: interrupted (asked to stop)`; where the ledger says running and no driver lives, that."""
    name, reason = standing.sweep["name"], standing.reason
    if standing.status != "running" or living_driver(folder, now):
        return f"{name}: {standing.status}{f' ({reason})' if reason else ''}"
    held = holder_of(folder)
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(max(standing.updated, held.heartbeat if held else 0)))
    return f"{name}: its driver is gone since {since}; the command that began it goes on with --resume (`stockpot sweep SWEEP.yaml --out {folder} --resume`, `stockpot demo --out ... --resume`)"


def headline(standing: Standing, now: float) -> str:
    """Trials done, the best so far, checkpoints evaluated, time left."""
    ended = sum(trial.has_ended for trial in standing.trials.values())
    evaluated = sum(trial.evaluated for trial in standing.trials.values())
    checkpoints = sum(trial.checkpoints for trial in standing.trials.values())
    parts = [f"trials {ended}/{standing.planned}", f"evaluated {evaluated}/{checkpoints} checkpoints"]
    tried = [(trial.highest, -trial.ordinal) for trial in standing.trials.values() if trial.highest is not None]
    if tried:
        value, ordinal = max(tried)
        parts.insert(1, f"best {standing.metric} {value:.3f} (trial {-ordinal})")
    left = seconds_left(standing, now)
    return ", ".join([*parts, *([f"about {span(left)} left"] if left is not None and left > 30 else [])])


def view(standing: Standing, now: float, bar: bool = True) -> Group:
    """Everything at once; the parts that have nothing to say are left out."""
    parts: list[RenderableType] = [Text(headline(standing, now), style="bold")]
    if bar and standing.status == "running":
        parts.append(ProgressBar(total=1.0, completed=share_done(standing), width=60))
    parts += [Text(line) for line in [pace(standing, now), *bests(standing)] if line]
    parts += [_front(standing), _running(standing)]
    parts += [Text(line, style="red") for line in failures(standing)]
    return Group(*(part for part in parts if not isinstance(part, Table) or part.row_count))


def pace(standing: Standing, now: float) -> str:
    """`running 2, finished 7, stopped 3; 12.0 trials an hour; 31 min of work of 2:00 h`."""
    counts = standing.counts()
    if standing.status != "running":  # nothing runs in a sweep that has been closed
        counts["interrupted"] = counts.pop("running", 0) + counts.pop("proposed", 0)
    parts = [", ".join(f"{status} {counts[status]}" for status in ("running", "proposed", "interrupted", *ENDS) if counts[status])]
    hours, worked = (standing.sweep["config"].get("budget") or {}).get("hours"), standing.worked(now)
    ended = sum(counts[status] for status in ENDS)
    if ended and worked:
        parts.append(f"{3600 * ended / worked:.1f} trials an hour")
    parts.append(f"{span(worked)} of work" + (f" of {span(3600 * hours)}" if hours else ""))
    return "; ".join(part for part in parts if part)


def bests(standing: Standing) -> Iterator[str]:
    """A line an objective: its best checkpoint on dev."""
    for place, (metric, _) in enumerate(standing.objectives):
        found = standing.best(place)
        if found:
            yield f"best {metric} {found.values[place]:.3f}: {_named(found.trial, found.step)}, step {found.step}"


def failures(standing: Standing) -> list[str]:
    """The newest failed trials with their reasons."""
    failed = sorted((t for t in standing.trials.values() if t.status == "failed"), key=lambda t: t.ended or 0, reverse=True)
    told = [f"{_named(trial)} failed: {(trial.reason.strip().splitlines() or ['for no known reason'])[0][:300]}" for trial in failed[:ROWS]]
    return [*told, *([f"and {len(failed) - ROWS} failed before"] if len(failed) > ROWS else [])]


def _front(standing: Standing) -> Table:
    """The Pareto front, where there is more than one objective to weigh."""
    table = Table(box=None, padding=(0, 2), title="Pareto front", title_justify="left", title_style="bold", header_style="dim")
    if len(standing.objectives) < 2:
        return table
    points = sorted(standing.front(), key=lambda point: point.values, reverse=standing.objectives[0][1] == "maximize")
    for column in ("trial", "step", *(metric for metric, _ in standing.objectives), "what varied"):
        table.add_column(column)
    for point in points[:ROWS]:
        table.add_row(*_cells(point, len(standing.objectives)))
    if len(points) > ROWS:
        table.caption, table.caption_justify = f"and {len(points) - ROWS} more", "left"
    return table


def _cells(point: Point, objectives: int) -> list[str | Text]:
    values = [f"{value:.3f}" for value in point.values[:objectives]]
    return [str(point.trial.ordinal), str(point.step), *values, Text(label(point.trial.varied_at(point.step)))]


def _running(standing: Standing) -> Table:
    """One row a trial under way."""
    table = Table(box=None, show_header=False, padding=(0, 2))
    under_way = [trial for trial in standing.trials.values() if not trial.has_ended]
    for trial in under_way[:ROWS]:
        told = "" if trial.metric is None else f"{standing.metric} {trial.metric:.3f}"
        again = f"restarted {trial.retries}x" if trial.retries else ""
        table.add_row(f"trial {trial.ordinal}", Text(label(trial.varied)), f"step {trial.step}/{trial.steps or '?'}", told, again)
    if len(under_way) > ROWS:
        table.add_row("...", f"and {len(under_way) - ROWS} more under way")
    return table


def _named(trial: TrialStanding, step: float = math.inf) -> str:
    return f"trial {trial.ordinal} ({label(trial.varied_at(step))})" if trial.varied else f"trial {trial.ordinal}"


def share_done(standing: Standing) -> float:
    """Trials' steps done, those that early stopping saved counted as done."""
    done = [1.0 if trial.has_ended else trial.step / max(trial.steps, trial.step, 1) for trial in standing.trials.values()]
    return sum(done) / max(standing.planned, len(done), 1)


def seconds_left(standing: Standing, now: float) -> float | None:
    """From the pace so far; None before the first report, and where nobody works."""
    share = share_done(standing)
    return standing.worked(now) * (1 - share) / share if standing.begun is not None and 0 < share < 1 else None


def span(seconds: float) -> str:
    """`45 s`, `12 min`, `3:05 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60}:{minutes % 60:02d} h"


def clock(since: float) -> str:
    """Minutes and seconds since then, by the monotonic clock."""
    seconds = int(time.monotonic() - since)
    return f"{seconds // 60:d}:{seconds % 60:02d}"
