"""The rows and words of a sweep: best checkpoints in the objective's direction, ties to the earlier and the lower."""

from __future__ import annotations

import pytest

from sweeps import summary
from sweeps.mlflow_view import view_tag
from tests.sweeps import made_ledgers as made


def scored(tmp_path, direction, values):
    """A sweep whose trial o has the value values[o][n] at step 20 (n + 1)."""
    ledger = made.Ledger.create(tmp_path, {
        "sweep_id": "s", "name": "n", "attributes": {},
        "config": {"search": {"objectives": [{"metric": "chunk-size/drop", "direction": direction}]}},
    }, 0.0)  # fmt: skip
    for ordinal, found in enumerate(values):
        ledger.append("proposed", {"ordinal": ordinal, "params": {"weight": 0.5}, "varied": {"weight": 0.5}}, 1.0)
        ledger.append("started", {"ordinal": ordinal}, 1.0)
        for number, value in enumerate(found):
            step = 20 * (number + 1)
            ledger.append("checkpoint", {"ordinal": ordinal, "step": step, "folder": "f", "sha256": "0"}, 2.0)
            if value is not None:
                figures = {"dev/chunk-size/drop": value}
                ledger.append("scores", {"ordinal": ordinal, "step": step, "split": "dev", "figures": figures}, 3.0)
    return ledger.state()


@pytest.mark.parametrize(
    ("direction", "order", "steps"), [("maximize", [2, 0, 3], [20, 40, 40]), ("minimize", [0, 3, 2], [20, 20, 40])]
)
def test_trials_rank_by_their_best_checkpoint(tmp_path, direction, order, steps):
    state = scored(tmp_path, direction, [[1.0, 2.0], [None], [9.0, 3.0, 9.0], [1.0, 2.0, None]])
    ranked = summary.ranked(state)
    assert [trial.ordinal for trial, _ in ranked] == order
    assert [best.step for _, best in ranked] == steps
    columns, rows = summary.results(state)
    assert columns == ["name", "status", "step", "weight", "dev/chunk-size/drop"]
    assert [row[0][:3] for row in rows] == [f"{ordinal:03d}" for ordinal in [*order, 1]]
    assert rows[-1] == ["001 w=0.5", "running", None, "0.5", None]


def test_the_view_shows_only_columns_that_exist(tmp_path):
    key, value = view_tag(scored(tmp_path, "minimize", [[1.0]]))
    assert key == "mlflow.sharedViewState.s"
    assert '["params.`weight`", "metrics.`dev/chunk-size/drop`", "tags.`stockpot.status`"]' in value


def test_nested_parameters_are_flat_and_numbers_exact():
    values = {"a": {"b": {"c": 1 / 3}, "d": []}, "e": True, "f": None, "g": {}}
    assert {name: summary.readable(value) for name, value in summary.flat(values)} == {
        "a.b.c": "0.3333333333333333", "a.d": "[]", "e": "true", "f": "null", "g": "{}",
    }  # fmt: skip
