"""The table that a sweep ends with: trials, baselines, the soup, side by side on dev."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from stockpot.output import print_table
from sweeps.config import Objective
from sweeps.ledger_state import LedgerState, Trial
from sweeps.noise import Noise, in_points
from sweeps.projected_model import shipped_model
from sweeps.space import label
from sweeps.summary import best_checkpoint

COLUMNS = {
    "Document@1": "context/Document@1",
    "Answer@10": "context/Answer@10",
    "nDCG@10 Q2C": "q2c/nDCG@10",
    "nDCG@10 Q2D": "q2d/nDCG@10",
    "chunk-size drop": "chunk-size/drop",
}
IN_POINTS = {"chunk-size drop"}
TIED = "~"
"""Differences of percentages; the others are shares, shown as percentages."""


def sweep_table(state: LedgerState, noise: Noise | None = None) -> None:
    """Each trial by its best checkpoint on dev (first objective), then what there is to beat, then what ships.

    With `noise`, trials whose distance to the best of a column is within it are marked as tied with it.
    """
    shipped = shipped_model(state)
    ingredients = {one["folder"] for one in shipped["ingredients"]} if shipped else set()
    rows = []
    bests = {ordinal: best_checkpoint(state, trial) for ordinal, trial in state.trials.items()}
    ties = _ties({ordinal: best.figures for ordinal, best in bests.items() if best and not best.broken}, noise)
    for ordinal, trial in sorted(state.trials.items()):
        best = bests[ordinal]
        used = [each for each, checkpoint in sorted(trial.checkpoints.items()) if checkpoint.folder in ingredients]
        step = str(best.step) if best else "-"
        status = ", ".join([trial.status, *(f"breaks {name}" for name in (best.broken if best else ()))])
        rows.append([str(ordinal), _varied(trial, best.step if best else math.inf), status, step, *_cells(best.figures if best else {}, ties.get(ordinal, ())), _ingredient(used, best.step if best else None)])
    for (name, split), scores in state.baselines.items():
        if split == "dev":
            rows.append(["", name, "baseline", "-", *_cells(scores.figures), ""])
    emphasised = []
    if shipped:
        emphasised.append(len(rows))
        rows.append(["", _ships(shipped), shipped["decision"], "-", *_cells(shipped["metrics"]), ""])
    columns = ["trial", "what varied", "status", "step", *(f"{name}{'' if name in IN_POINTS else ' %'}" for name in COLUMNS), "ingredient"]
    told = f"; {TIED} cannot be told from the best of its column" if ties else ""
    print_table(f"{state.sweep['name']}: dev, full dimension, float32{told}", columns, rows, emphasised)


def _ingredient(used: Sequence[int], shown: int | None) -> str:
    """Whether what ships holds a checkpoint of the trial; its step where that is not the one that the row shows."""
    return "" if not used else "yes" if used == [shown] else f"step {', '.join(map(str, used))}"


def _varied(trial: Trial, step: float) -> str:
    """What led to `step`, and whose checkpoint it went on from."""
    since, varied = trial.exploited_before(step), label(trial.varied_at(step))
    return varied if since is None else f"{varied} (from trial {trial.exploits[since].donor['ordinal']} at {since})"


def noise_table(noise: Noise, objectives: Sequence[Objective]) -> None:
    """The smallest gain by suite, and what it is made of."""
    rows = []
    for figure, one in noise.headlines(objectives).items():
        parts = (one.mean, one.seed_sd, one.query_sd, one.gain)
        rows.append([figure, str(one.families), *(f"{in_points(figure, part):.1f}" for part in parts)])
        if one.beyond(figure):
            rows[-1][-1] += " (over 100: take more replicates)"
    columns = ["figure", "families", "mean", "sd of seeds", "sd of queries", "smallest gain"]
    print_table(f"{noise.name}: noise on dev from {noise.replicates} replicates at step {noise.step}, in points", columns, rows)


def _ties(figures: Mapping[int, Mapping[str, float]], noise: Noise | None) -> dict[int, set[str]]:
    """By ordinal, the columns in which a trial cannot be told from the best one; the best itself where it has company."""
    found: dict[int, set[str]] = {}
    for column, figure in COLUMNS.items():
        held = {ordinal: one[f"dev/{figure}"] for ordinal, one in figures.items() if f"dev/{figure}" in one}
        if noise is None or figure not in noise.figures or not held:
            continue
        best = (min if column in IN_POINTS else max)(held.values())
        tied = [ordinal for ordinal, value in held.items() if abs(value - best) < noise.figures[figure].gain or value == best]
        for ordinal in tied if len(tied) > 1 else ():
            found.setdefault(ordinal, set()).add(column)
    return found


def _cells(figures: Mapping[str, float], tied: Collection[str] = ()) -> list[str]:
    found = (figures.get(f"dev/{figure}") for figure in COLUMNS.values())
    return [
        "-" if value is None else TIED * (name in tied) + (f"{value:.1f}" if name in IN_POINTS else f"{100 * value:.1f}")
        for name, value in zip(COLUMNS, found, strict=True)
    ]


def _ships(shipped: Mapping) -> str:
    count = len(shipped["ingredients"])
    return f"soup of {count} checkpoints" if count > 1 else "best single checkpoint"
