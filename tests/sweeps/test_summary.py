"""The rows and words of a sweep: best checkpoints in the objective's direction, ties to the earlier and the lower."""

from __future__ import annotations

import pytest

from sweeps import summary
from sweeps.ledger_state import Scores
from sweeps.mlflow_view import view_tag
from tests.sweeps import made_ledgers as made


def scored(tmp_path, direction, values, constraints=()):
    """A sweep whose trial o has the value values[o][n] at step 20 (n + 1)."""
    ledger = made.Ledger.create(tmp_path, {
        "sweep_id": "s", "name": "n", "attributes": {},
        "config": {"search": {"objectives": [{"metric": "chunk-size/drop", "direction": direction}], "constraints": constraints}},
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


def test_what_breaks_a_guardrail_is_never_best_and_says_so(tmp_path):
    limit = [{"metric": "chunk-size/drop", "at_most": 5.0}]
    state = scored(tmp_path, "maximize", [[9.0], [None], [1.0, 4.0, 8.0], [5.0]], limit)
    assert [(trial.ordinal, best.step) for trial, best in summary.ranked(state)] == [(3, 20), (2, 40)]
    assert summary.best_checkpoint(state, state.trials[0]).broken == ("chunk-size/drop <= 5",)
    _, rows = summary.results(state)
    assert [(row[0][:3], row[1], row[2]) for row in rows] == [
        ("003", "running", 20), ("002", "running", 40), ("000", "running, breaks chunk-size/drop <= 5", 20), ("001", "running", None),
    ]  # fmt: skip


def test_a_trial_that_failed_is_never_best_whatever_it_scored_before(tmp_path):
    state = scored(tmp_path, "maximize", [[1.0], [9.0]])
    state.trials[1].status = "failed"
    assert [trial.ordinal for trial, _ in summary.ranked(state)] == [0]
    assert [row[0][:3] for row in summary.results(state)[1]] == ["000", "001"]


def test_a_guardrail_against_the_untrained_student_holds_nothing_until_that_is_known(tmp_path):
    ledger_state = scored(tmp_path, "maximize", [[3.0], [5.0]], [{"metric": "chunk-size/drop", "not_below": "untrained", "by": 1.0}])
    assert summary.ranked(ledger_state) == []
    ledger_state.baselines["untrained student", "dev"] = Scores("dev", {"dev/chunk-size/drop": 4.5}, None, 0.0, None)
    assert [trial.ordinal for trial, _ in summary.ranked(ledger_state)] == [1]


def test_the_view_shows_only_columns_that_exist(tmp_path):
    key, value = view_tag(scored(tmp_path, "minimize", [[1.0]]))
    assert key == "mlflow.sharedViewState.s"
    assert '["params.`weight`", "metrics.`dev/chunk-size/drop`", "tags.`stockpot.status`"]' in value


def test_nested_parameters_are_flat_and_numbers_exact():
    values = {"a": {"b": {"c": 1 / 3}, "d": []}, "e": True, "f": None, "g": {}}
    assert {name: summary.readable(value) for name, value in summary.flat(values)} == {
        "a.b.c": "0.3333333333333333", "a.d": "[]", "e": "true", "f": "null", "g": "{}",
    }  # fmt: skip
