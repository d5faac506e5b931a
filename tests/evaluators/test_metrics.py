from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.errors import InputError
from evaluators.metrics import Metric, average_precision, ideal, ndcg, precision, recall, reciprocal_rank
from evaluators.trec import measure


@pytest.mark.parametrize("spelling", ["nDCG@10", "Answer@1", "SpanHit@2000tok", "AP"])
def test_one_spelling(spelling):
    assert str(Metric.parse(spelling)) == spelling


@pytest.mark.parametrize("spelling", ["nDCG@0", "ndcg@10", "nDCG@-1", "nDCG10", "SpanHit@5 tok", ""])
def test_other_spellings_are_refused(spelling):
    with pytest.raises(InputError):
        Metric.parse(spelling)


def test_by_hand():
    gains = np.array([[0, 2, -1, 1], [0, 0, 0, 0]])
    best = ideal([[2, 1, -1, 0], [3]], 3)
    assert best == pytest.approx([2 + 1 / math.log2(3), 3])
    assert ndcg(gains, best, 3) == pytest.approx([(2 / math.log2(3)) / best[0], 0])
    relevant = gains > 0
    assert reciprocal_rank(relevant).tolist() == [0.5, 0]
    assert precision(relevant, 3).tolist() == [1 / 3, 0]
    assert recall(relevant, np.array([2, 1]), 3).tolist() == [0.5, 0]
    assert average_precision(relevant, np.array([2, 1])).tolist() == [(1 / 2 + 2 / 4) / 2, 0]


names = st.sampled_from(["0", "1", "2", "10", "9", "a", "b", "a%20b", "z"])


# A query without any positive judgment reads memory it never wrote in pytrec_eval, which then sometimes crashes or
# loops for ever: here each has one, and such queries are tested below.
judged = st.dictionaries(names, st.integers(-1, 3), min_size=1).filter(lambda found: max(found.values()) > 0)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(qrels=st.dictionaries(names, judged, min_size=1),
       run=st.dictionaries(names, st.dictionaries(names, st.sampled_from([0.1, 0.25, 0.5, 1e-9, -3.0]), min_size=1)))
def test_equals_pytrec_eval(qrels, run):
    """Ties, graded and negative judgments, judged but not retrieved, queries without results (which count 0)."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    pairs = {"nDCG@3": "ndcg_cut_3", "nDCG@10": "ndcg_cut_10", "nDCG": "ndcg", "AP": "map", "RR": "recip_rank",
             "P@5": "P_5", "R@5": "recall_5"}
    peer = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.3,10", "ndcg", "map", "recip_rank", "P.5", "recall.5"})
    expected = peer.evaluate(run)
    found = measure(run, qrels, list(pairs))
    assert found.keys() == qrels.keys()
    for query, values in found.items():
        for mine, theirs in pairs.items():
            assert values[mine] == pytest.approx(expected.get(query, {}).get(theirs, 0.0), abs=1e-9)


def test_without_positive_judgments_everything_is_0():
    found = measure({"q": {"a": 0.5, "b": 0.2}}, {"q": {"a": -1, "b": 0}}, ["nDCG@3", "nDCG", "AP", "RR", "P@5", "R@5"])
    assert set(found["q"].values()) == {0.0}
