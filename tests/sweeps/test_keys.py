"""MLflow keys: legal, unique, readable, and decoded where no hash was needed."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from corpora.errors import StockpotError
from sweeps import keys

METRICS = [
    "nDCG",
    "Answer",
    "EvidenceRecall",
    "AllEvidence",
    "Document",
    "SpanHit",
    "UnionHit",
    "SpanMRR",
    "AP",
    "RR",
    "P",
    "R",
]
READABLE = {
    "dev/context/Answer@10": "dev/context/answer_at_10",
    "dev/q2c/nDCG@10": "dev/q2c/ndcg_at_10",
    "confirm/context/EvidenceRecall@10": "confirm/context/evidence_recall_at_10",
    "dev/spans/SpanMRR@5": "dev/spans/span_mrr_at_5",
    "dev/spans/SpanHit@2000tok": "dev/spans/span_hit_at_2000tok",
    "dev/storage/nDCG@10[d=64,int8]": "dev/storage/ndcg_at_10.d-64.int8",
    "dev/chunk-size/nDCG@10[tokens:64]": "dev/chunk-size/ndcg_at_10.tokens:64",
    "dev/chunk-size/drop": "dev/chunk-size/drop",
    "train/gradient-norm/document": "train/gradient-norm/document",
}


def accepted_by_mlflow(key: str) -> bool:
    from mlflow.exceptions import MlflowException
    from mlflow.utils.validation import _validate_metric_name

    try:
        _validate_metric_name(key)
    except MlflowException:
        return False
    return len(key) <= 250


@pytest.mark.parametrize("name", READABLE)
def test_the_systems_own_names_are_readable_and_come_back(name):
    assert keys.metric_key(name) == READABLE[name]
    assert keys.metric_name(READABLE[name]) == name


@settings(deadline=None)
@given(
    st.sampled_from(METRICS), st.integers(1, 5000), st.sampled_from(["", "tok"]), st.sampled_from(["dev", "confirm"])
)
def test_every_metric_of_the_design_comes_back(metric, cutoff, unit, split):
    name = f"{split}/suite/{metric}@{cutoff}{unit}"
    assert keys.metric_name(keys.metric_key(name)) == name


names = st.text(max_size=300) | st.text(alphabet="aAbB@/._-: []=,10ndcgé\n", max_size=20)


@settings(deadline=None)
@given(names)
@example("")
@example("/")
@example("a/../b")
@example("x" * 1000)
@example("Answer@10\n")
@example("..")
@example("\ud800")
def test_every_name_gets_a_legal_key_and_never_a_wrong_name_back(name):
    key = keys.metric_key(name)
    assert accepted_by_mlflow(key), key
    assert keys.metric_name(key) in (name, None)
    assert accepted_by_mlflow(keys.param_key(name))


@settings(deadline=None)
@given(st.lists(names, unique=True, max_size=30))
@example(["Answer@10", "answer@10", "answer_at_10", "ANSWER@10", "answer_at_10-00000000"])
def test_two_names_never_share_a_key_whatever_their_case(several):
    table = keys.metric_keys(several)
    assert len({key.casefold() for key in table.values()}) == len(several)
    assert len({keys.param_key(name) for name in several}) == len(several)


def test_a_collision_is_refused(monkeypatch):
    monkeypatch.setattr(keys, "metric_key", lambda name: "same")
    with pytest.raises(StockpotError, match="'a' and 'b'"):
        keys.metric_keys(["a", "b"])


def test_a_legal_parameter_keeps_its_name():
    assert keys.param_key("recipe.loss.weight") == "recipe.loss.weight"
    assert keys.param_key("temperature @ τ").startswith("temperature _ τ-")
