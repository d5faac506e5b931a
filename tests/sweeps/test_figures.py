"""Each figure appears when it has something to show, says what it says, and bears any text."""

from __future__ import annotations

import pytest

from sweeps.figures import READING, best, canvas, pareto, search, sweep_figures, timeline
from sweeps.figures.timeline import Bar, lanes
from sweeps.importance import importance
from sweeps.summary import ranked
from tests.sweeps import made_ledgers, made_searches as made


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """(state, folder) of a search with everything: failures, retries, replicates, baselines, a soup."""
    folder = tmp_path_factory.mktemp("search")
    ledger = made.begin(folder)
    made.trials(ledger, 24)
    made.replicates(ledger, folder, {"a": 0.5, made.HOSTILE: 0.4})
    made_ledgers.baselines(ledger)
    made_ledgers.ship(ledger, folder)
    return ledger.state(), folder


def words(figure):
    """Every text that a figure shows."""
    from matplotlib.text import Text

    figure.canvas.draw()
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def test_a_whole_search_has_every_figure_once_and_all_are_explained(whole):
    names = [name for name, _ in sweep_figures(*whole)]
    assert names == [name for name in READING if name in names]
    assert set(READING) - set(names) == {"chunk-size", "storage"}


def test_an_empty_sweep_and_a_single_trial_have_no_figure(tmp_path):
    ledger = made.begin(tmp_path)
    assert list(sweep_figures(ledger.state(), tmp_path)) == []
    made.trials(ledger, 1)
    assert {name for name, _ in sweep_figures(ledger.state(), tmp_path)} == {"loss-curves", "pareto-front", "document-against-answer"}


def test_one_objective_has_no_front_and_three_have_two_panels(tmp_path):
    for count, panels in ((1, 0), (3, 2)):
        ledger = made.begin(tmp_path / str(count), objectives=count)
        made.trials(ledger, 6)
        found = dict(sweep_figures(ledger.state(), tmp_path))
        assert ("pareto-front" in found) == bool(panels)
        if panels:
            axes = found["pareto-front"].axes
            assert [one.get_xlabel() for one in axes] == ["dev/context/Document@1", "dev/chunk-size/drop (less is better)"]


def test_the_front_leaves_failed_trials_out_and_shows_baselines_and_what_ships(whole):
    state, _ = whole
    points = pareto.pareto_points(state)
    assert set(points.kind) == {pareto.CHECKPOINT, pareto.BASELINE, pareto.SHIPS}
    assert not points[points.kind != pareto.CHECKPOINT].front.any() and points.front.any()
    failed = {f"{ordinal:03d}" for ordinal, trial in state.trials.items() if trial.status == "failed"}
    assert failed and not failed & {label[:3] for label in points.label}
    assert {"BM25", "untrained student", "Pareto front", "what ships"} <= set(words(pareto.pareto_front(state, points)))


def test_parallel_coordinates_have_an_axis_a_field_and_a_line_a_trial(whole):
    state, _ = whole
    fields = search.varied_fields(state)
    assert fields[0] == "note" or set(fields) >= {"learning_rate", "weight", "top_n", "chunking_mix"}
    figure = search.parallel_coordinates(state, fields)
    lines = figure.axes[0].collections[0]
    order = ranked(state)
    assert len(lines.get_segments()) == len(order)
    assert list(lines.get_array()) == [found.value for _, found in order][::-1]
    text = words(figure)
    assert {"sentence", "sentence+tokens:64", "–", f"{order[0][0].ordinal:03d}", "dev/context/Answer@10"} <= set(text)


def test_scales_spread_values_between_the_ends_of_their_axis():
    heights, ticks = search._scale([1e-5, 1e-4, 1e-3, 2e-5, 3e-5, 4e-5, None])
    assert heights[:3] == pytest.approx([0, 0.5, 1]) and heights[-1] == search.ABSENT
    assert [text for _, text in ticks] == ["1e-05", "3.16e-05", "0.0001", "0.000316", "0.001", "–"]
    assert search._scale([[64], [384, 64], [64]]) == ([1.0, 0.0, 1.0], [(0.0, "384/64"), (1.0, "64")])
    assert search._scale([10, 9, 10])[1] == [(0.0, "9"), (1.0, "10")]
    assert search._scale([0.5, 0.5])[0] == [0, 0]


def test_importance_names_fields_and_objectives(whole):
    state, _ = whole
    text = words(search.importance_bars(importance(state), 24))
    assert {"learning_rate", "dev/context/Answer@10", "dev/context/Document@1"} <= set(text)
    assert "importance: what sets the best 21% of 24 trials apart" in text


def test_lanes_never_overlap_and_are_as_few_as_can_be():
    bars = sorted([Bar(0, 10, "a", ""), Bar(1, 4, "a", ""), Bar(2, 3, "a", ""), Bar(3, 5, "a", ""), Bar(10, 12, "a", "")])
    found = lanes(bars)
    assert found == [0, 1, 2, 2, 0]
    for lane in set(found):
        own = [bar for bar, at in zip(bars, found) if at == lane]
        assert all(one.ended <= next_.began for one, next_ in zip(own, own[1:]))


def test_the_timeline_has_two_slots_retries_and_every_evaluation(tmp_path):
    ledger = made.begin(tmp_path)
    made.trials(ledger, 8)
    state = ledger.state()
    assert max(lanes(timeline.trial_bars(state))) == 1
    assert len(timeline.evaluation_bars(state)) == 16
    assert all(bar.ended - bar.began == 20 for bar in timeline.evaluation_bars(state))
    text = words(timeline.timeline(state))
    assert {"slot 1", "slot 2", "evaluations", "failed", "stopped", "worker lost, trial went on"} <= set(text)
    assert "slot 3" not in text and {"0", "7"} <= set(text)


def test_a_trial_that_runs_ends_at_the_newest_event(tmp_path):
    ledger = made.begin(tmp_path)
    made_ledgers.trial(ledger, 0, end="", steps=(20,))
    (bar,) = timeline.trial_bars(ledger.state())
    assert (bar.ended, bar.kind) == (ledger.state().updated, "running")


def test_replicates_are_named_with_their_verdicts(whole):
    text = words(dict(sweep_figures(*whole))["replicates"])
    assert {"note=a", "best", "worse than the best"} <= set(text)


@pytest.mark.parametrize("text", [made.HOSTILE, "$", "$a$ $b$", r"$\frac{", "_hidden", "x" * 10_000, "\x00\n\t", "‮rtl"])
def test_any_text_is_a_caption_that_draws(text):
    figure = canvas.new_figure()
    axes = canvas.new_axes(figure, xlabel=text)
    axes.plot([0], [1], label=canvas.caption(text))
    axes.legend()
    figure.canvas.draw()
    shown = canvas.caption(text)
    assert len(shown) <= 130 and "\n" not in shown and not shown.startswith("_")


def test_a_caption_keeps_short_text_as_it_is():
    assert canvas.caption("007 w=0.5 ü <b> 日本") == "007 w=0.5 ü <b> 日本"
    assert canvas.caption("a" * 100) == "a" * 59 + "…"


def test_a_hostile_name_goes_through_every_figure(tmp_path):
    ledger = made.begin(tmp_path, name=made.HOSTILE)
    for ordinal in range(12):
        varied = {made.HOSTILE[:40]: f"{made.HOSTILE}{ordinal % 3}", "weight": ordinal / 12}
        ledger.append("proposed", {"ordinal": ordinal, "params": varied, "varied": varied}, 10.0 + ordinal)
        ledger.append("started", {"ordinal": ordinal}, 20.0 + ordinal)
        made.scored(ledger, ordinal, 20, {"dev/context/Answer@10": 0.5 + ordinal / 30, "dev/context/Document@1": 0.4}, 30.0)
    ledger.append("baseline", {"name": made.HOSTILE, "split": "dev", "figures": {"dev/context/Answer@10": 0.5, "dev/context/Document@1": 0.1}, "per_query": None}, 99.0)
    names = set()
    for name, figure in sweep_figures(ledger.state(), tmp_path):
        figure.canvas.draw()
        names.add(name)
    assert names >= {"pareto-front", "parallel-coordinates", "importance", "timeline", "loss-curves", "document-against-answer"}


def test_trade_points_are_of_dev_alone(tmp_path):
    ledger = made.begin(tmp_path)
    for split in ("dev", "confirm"):
        figures = {f"{split}/context/Answer@10": 0.5, f"{split}/context/Document@1": 0.1}
        ledger.append("baseline", {"name": "BM25", "split": split, "figures": figures, "per_query": None}, 9.0)
    assert best.trade_points(ledger.state()).label.tolist() == ["BM25"]
