from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from corpora.errors import InputError
from corpora.holm import holm
from evaluators.compare import SAME, compare, flips, shared_figures
from evaluators.evaluate import evaluate
from evaluators.results import COUNTS, PER_QUERY, TASKS, Results
from evaluators.significance import sign_test
from evaluators.tasks import Task
from tests.evaluators.worlds import Given, random_world


@pytest.fixture(scope="module")
def pair():
    corpus, queries, vectors = random_world(6)
    task = Task("world", corpus)
    return [replace(evaluate(Given(queries * sign, vectors), [task], ("q2d", "context", "storage"), chunking="given"),
                    encoder=name) for sign, name in ((1, "one"), (-1, "two"))]


def made(name: str, values: dict[str, list[float]], metric: str = "q2c/nDCG@10", families: int = 12) -> Results:
    """Results of one metric by task; query i of a task belongs to family i modulo `families`."""
    suite, _, metric = metric.partition("/")
    rows = [(suite, task, "sentence", 8, "float32", metric, f"q{place}", value)
            for task, column in values.items() for place, value in enumerate(column)]
    queries = [(task, f"q{place}", None, None, f"f{place % families}") for task, column in values.items()
               for place in range(len(column))]
    tasks = [(task, None, task * 8, None, 3, len(column)) for task, column in values.items()]
    return Results(name, pd.DataFrame(rows, columns=PER_QUERY),
                   pd.DataFrame(queries, columns=["task", "query", "ability", "domain", "family"]),
                   pd.DataFrame(tasks, columns=TASKS), pd.DataFrame(columns=COUNTS))


def test_differences_are_paired_by_query(pair):
    found = compare(pair, ["context/Document@1", "q2d/nDCG@10"], np.random.default_rng(0), 500)
    values = [results.values("context", "Document@1") for results in pair]
    row = found.iloc[0]
    assert row.difference == pytest.approx((values[1] - values[0]).mean())
    test = sign_test((values[1] - values[0]).to_numpy())
    assert (row.wins, row.losses, row.p) == (test.wins, test.losses, test.p)
    assert row.low <= row.difference <= row.high


def test_equal_results_are_no_different(pair):
    found = compare([pair[0], pair[0]], ["context/Document@1"], np.random.default_rng(0), 200)
    assert (found.verdict == SAME).all() and (found.p == 1).all()
    assert flips(pair[0], pair[0], "context/Document@1").empty


def test_a_verdict_needs_interval_holm_and_families():
    worse, better = made("w", {"t": [0.0] * 12}), made("b", {"t": [1.0] * 10 + [0.0] * 2})
    figures, rng = ["q2c/nDCG@10"], np.random.default_rng
    assert compare([worse, better], figures, rng(0)).verdict.tolist() == ["b better"]
    assert compare([better, worse], figures, rng(0)).verdict.tolist() == ["b better"]
    few = [made("w", {"t": [0.0] * 12}, families=5), made("b", {"t": [1.0] * 10 + [0.0] * 2}, families=5)]
    row = compare(few, figures, rng(0)).iloc[0]
    assert row.low > 0 and row.p < 0.01 and row.families == 5 and row.verdict == SAME
    alone = [made(name, {"t": [value] * 12}, families=1) for name, value in (("w", 0.0), ("b", 1.0))]
    one = compare(alone, figures, rng(0))
    assert one[["low", "high"]].isna().all(axis=None) and one.verdict.tolist() == [SAME]
    thin = compare([worse, made("b", {"t": [1.0] * 5 + [0.0] * 7})], figures, rng(0)).iloc[0]
    assert thin.low > 0 and thin.p == pytest.approx(2 / 2**5) and thin.verdict == SAME


def test_a_mean_and_a_count_that_disagree_tell_nothing():
    """In each of six families one query gains much and five lose a little."""
    row = compare([made("a", {"t": [0.5] * 36}, families=6), made("b", {"t": [1.0] * 6 + [0.49] * 30}, families=6)],
                  ["q2c/nDCG@10"], np.random.default_rng(0)).iloc[0]
    assert row.low > 0 and (row.wins, row.losses) == (6, 30) and row.p < 0.001 and row.verdict == SAME


def test_less_is_better_for_what_is_lost_or_paid():
    less, more = (made(name, {"t": [value] * 12}, "chunk-size/drop") for name, value in (("l", 1.0), ("m", 9.0)))
    assert compare([less, more], ["chunk-size/drop"], np.random.default_rng(0), 200).verdict.tolist() == ["l better"]


def test_holm_runs_over_the_tasks_and_the_mean_of_tasks_has_a_row():
    a = made("a", {"s": [0.0] * 12, "t": [0.0] * 24})
    b = made("b", {"s": [1.0] * 6 + [0.0] * 6, "t": [0.0] * 12 + [1.0] * 12})
    found = compare([a, b], ["q2c/nDCG@10"], np.random.default_rng(0), 400)
    assert found.task.tolist() == ["s", "t", "all"]
    assert found.p_holm[:2].tolist() == pytest.approx(holm(found.p[:2].tolist()))
    overall = found.iloc[2]
    assert overall.difference == pytest.approx(0.5) and (overall.wins, overall.losses) == (18, 0)
    assert overall.low <= 0.5 <= overall.high and overall.p_holm == overall.p


def test_first_against_all_or_every_pair():
    results = [made(name, {"t": [place / 4] * 7}) for place, name in enumerate("abc")]
    pairs = [compare(results, ["q2c/nDCG@10"], np.random.default_rng(0), 50, every_pair=every)
             for every in (False, True)]
    assert [list(zip(found.a, found.b, strict=True)) for found in pairs] == [
        [("a", "b"), ("a", "c")], [("a", "b"), ("a", "c"), ("b", "c")]]


def test_flips_are_the_queries_that_changed(pair):
    found = flips(*pair, "context/Document@1")
    assert len(found) and (found.value_a != found.value_b).all()
    assert (np.diff(found.difference.abs()) <= 0).all()


def test_shared_figures_leave_settings_to_those_who_ask(pair):
    usual = shared_figures(pair)
    assert "q2d/nDCG@10" in usual and not any(name.startswith("storage/") for name in usual)
    assert shared_figures(pair, ["storage"]) == [f"storage/nDCG@10[d=6,{each}]"
                                                 for each in ("float32", "int8", "binary")]
    with pytest.raises(InputError, match="figure 'q2c'.*shared are q2d/nDCG@1, "):
        shared_figures(pair, ["q2c"])


def test_other_corpora_are_refused(pair):
    corpus, queries, vectors = random_world(7)
    other = evaluate(Given(queries, vectors), [Task("world", corpus)], ("q2d", "context"), chunking="given")
    with pytest.raises(InputError, match=f"'world'.*{pair[0].tasks.corpus_sha256[0][:12]}.*{corpus.sha256[:12]}"):
        compare([pair[0], other], ["context/Document@1"], np.random.default_rng(0))


def test_missing_queries_and_tasks_are_named(pair):
    one = pair[0]
    query = one.figure("q2d/nDCG@10").index[0][1]
    lacking = replace(one, encoder="two", per_query=one.per_query[one.per_query["query"] != query])
    with pytest.raises(InputError, match=f"on task 'world': two has no value for 1 queries that one has: '{query}'"):
        compare([one, lacking], ["q2d/nDCG@10"], np.random.default_rng(0))
    other = replace(one, encoder="two", **{name: getattr(one, name).assign(task="moon")
                                           for name in ("per_query", "queries", "tasks")})
    with pytest.raises(InputError, match="task 'world': one has it, two has not"):
        compare([one, other], ["q2d/nDCG@10"], np.random.default_rng(0))
