"""Figures of a sweep, from its ledger: what MLflow's parent run and `stockpot report` show.

Colours are those of evaluators/figures.py, safe for the colour-blind; marker, dash, hatching and lightness say the same
in black and white.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from evaluators import figures as drawn
from sweeps.figures import best, pareto, search, timeline
from sweeps.figures.replicates import replicate_dots
from sweeps.importance import importance
from sweeps.ledger_state import LedgerState
from sweeps.replicates import compared
from sweeps.summary import objectives, ranked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

READING = {
    "pareto-front": "Every checkpoint by the objectives on dev. A ring marks what no other checkpoint beats in all of "
    "them: choose along the dotted line. Squares are the baselines to beat, the star is what ships.",
    "parallel-coordinates": "A line is a trial, an axis a varied field, the last axis the first objective by the trial's "
    "best checkpoint on dev. Darker is better; the thick lines are the five best, with their ordinals. Where thick "
    "lines meet, a value matters; a field that a trial does not have stands at the dash below.",
    "importance": "PED-ANOVA: how much the values of a field among the best trials differ from its values among all of "
    "them. Shares sum to 1 for each objective; they say that a field matters, not in which direction.",
    "replicates": "Settings that ran under several seeds, the best above: small marks are the runs, the large one their "
    "mean. What cannot be told from the best is a tie, whatever the order of the means.",
    "timeline": "Trials over the slots of the sweep and evaluations below them; a cross is a worker that was lost and "
    "whose trial went on from its newest checkpoint. White space is a slot that waited.",
    "document-against-answer": "Finding the document against finding the answer in it: each trial by its best checkpoint "
    "on dev, darker with a higher loss weight where that was varied.",
    "loss-curves": "Losses against optimiser steps; the five best trials in colour, the others grey.",
    "chunk-size": "Quality of finding the chunk against the size of the chunks, in tokens.",
    "storage": "Quality of the best trial's vectors against the bytes that one takes, cut and quantised; rings mark the "
    "Pareto front.",
}
"""How each figure is read, by file name and in the order of showing."""


def sweep_figures(state: LedgerState, folder: Path) -> Iterator[tuple[str, Figure]]:
    """(file name, figure) of each figure that has something to show; `folder` is the sweep's."""
    if len(objectives(state)) > 1 and (points := pareto.pareto_points(state)).front.sum() > 0:
        yield "pareto-front", pareto.pareto_front(state, points)
    if fields := search.varied_fields(state):
        yield "parallel-coordinates", search.parallel_coordinates(state, fields)
    if not (shares := importance(state)).empty:
        yield "importance", search.importance_bars(shares, len(ranked(state)))
    if len(table := compared(state, folder)):
        yield "replicates", replicate_dots(state, table)
    if len(timeline.trial_bars(state)) > 1:
        yield "timeline", timeline.timeline(state)
    if len(trade := best.trade_points(state)):
        yield "document-against-answer", drawn.document_against_answer(trade, best.shade_of(trade))
    if losses := best.loss_names(state):
        yield "loss-curves", best.loss_curves(state, losses)
    results = best.best_results(state, folder)
    have = [set(each.per_query.suite.unique()) for each in results]
    if sizes := [each for each, suites in zip(results, have) if "chunk-size" in suites]:
        yield "chunk-size", drawn.chunk_size_curve(sizes)
    if stored := [each for each, suites in zip(results, have) if "storage" in suites and each.dimension]:
        yield "storage", drawn.storage_frontier(stored[:1])
