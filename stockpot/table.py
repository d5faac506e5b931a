"""The table that a sweep ends with: trials, baselines, the soup, side by side on dev."""

from __future__ import annotations

from collections.abc import Mapping

from stockpot.output import print_table
from sweeps.ledger_state import LedgerState
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
"""Differences of percentages; the others are shares, shown as percentages."""


def sweep_table(state: LedgerState) -> None:
    """Each trial by its best checkpoint on dev (first objective), then what there is to beat, then what ships."""
    shipped = shipped_model(state)
    ingredients = {one["folder"] for one in shipped["ingredients"]} if shipped else set()
    rows = []
    for ordinal, trial in sorted(state.trials.items()):
        best = best_checkpoint(state, trial)
        used = any(checkpoint.folder in ingredients for checkpoint in trial.checkpoints.values())
        step = str(best.step) if best else "-"
        status = ", ".join([trial.status, *(f"breaks {name}" for name in (best.broken if best else ()))])
        rows.append([str(ordinal), label(trial.varied), status, step, *_cells(best.figures if best else {}), "yes" if used else ""])
    for (name, split), scores in state.baselines.items():
        if split == "dev":
            rows.append(["", name, "baseline", "-", *_cells(scores.figures), ""])
    emphasised = []
    if shipped:
        emphasised.append(len(rows))
        rows.append(["", _ships(shipped), shipped["decision"], "-", *_cells(shipped["metrics"]), ""])
    columns = ["trial", "what varied", "status", "step", *(f"{name}{'' if name in IN_POINTS else ' %'}" for name in COLUMNS), "ingredient"]
    print_table(f"{state.sweep['name']}: dev, full dimension, float32", columns, rows, emphasised)


def _cells(figures: Mapping[str, float]) -> list[str]:
    found = (figures.get(f"dev/{figure}") for figure in COLUMNS.values())
    return [
        "-" if value is None else f"{value:.1f}" if name in IN_POINTS else f"{100 * value:.1f}"
        for name, value in zip(COLUMNS, found, strict=True)
    ]


def _ships(shipped: Mapping) -> str:
    count = len(shipped["ingredients"])
    return f"soup of {count} checkpoints" if count > 1 else "best single checkpoint"
