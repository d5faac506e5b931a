from __future__ import annotations

import numpy as np
import pytest

from corpora.errors import InputError
from evaluators.compare import SAME, compare, flips
from evaluators.evaluate import evaluate
from evaluators.significance import sign_test
from evaluators.tasks import Task
from tests.evaluators.worlds import Given, random_world


@pytest.fixture(scope="module")
def pair():
    corpus, queries, vectors = random_world(6)
    task = Task("world", corpus)
    return [evaluate(Given(queries * sign, vectors), [task], ("q2d", "context"), chunking="given") for sign in (1, -1)]


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


def test_flips_are_the_queries_that_changed(pair):
    found = flips(*pair, "context/Document@1")
    assert len(found) and (found.value_a != found.value_b).all()
    assert (np.diff(found.difference.abs()) <= 0).all()


def test_other_corpora_are_refused(pair):
    corpus, queries, vectors = random_world(7)
    other = evaluate(Given(queries, vectors), [Task("world", corpus)], ("q2d", "context"), chunking="given")
    with pytest.raises(InputError):
        compare([pair[0], other], ["context/Document@1"], np.random.default_rng(0))
