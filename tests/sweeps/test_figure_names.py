"""An objective that no evaluation gives is refused before a night is lost for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from corpora.documents import Corpus
from corpora.errors import InputError
from evaluators.evaluate import evaluate
from evaluators.tasks import Task
from sweeps.config import SweepConfig
from sweeps.figure_names import Nothing, _words, figure_names, figure_problems
from sweeps.plan import plan
from tests.evaluators.worlds import random_world


def config(**changed) -> SweepConfig:
    content = {"name": "n", "corpora": {"generate": "quick", "seed": 0}, "student": {"layers": 2, "dimension": 8}}
    return SweepConfig.model_validate(content | {"recipe": {"weight": {"uniform": [0, 1]}}, "search": {"trials": 1}} | changed)


def world() -> Corpus:
    return random_world(5)[0]


def test_names_are_those_of_an_evaluation_of_the_whole_corpus():
    asked = config(evaluation={"suites": ["context", "q2c", "chunk-size", "storage", "spans", "conteb"], "dimensions": [4], "k": [1, 3],
                               "chunk_sizes": [8, 16]})  # fmt: skip
    whole = evaluate(Nothing(8), [Task("w", world())], asked.evaluation.suites, dimensions=(8, 4), ks=(1, 3), chunking="sentence",
                     chunk_sizes=(8, 16), tokenizer=_words())  # fmt: skip
    assert set(figure_names(asked, [world()])) == set(whole.figures())


@pytest.mark.parametrize(
    ("metric", "k", "said"),
    [
        ("context/Answer@10", [1], r"evaluation.k is \[1\]"),
        ("context/Anwser@10", [1, 10], "did you mean 'context/Answer@10'"),
        ("context/answer@10", [1, 10], "did you mean 'context/Answer@10'"),
        ("q2c/nDCG@7", [1, 10], "did you mean 'q2c/nDCG@1"),
    ],
)
def test_what_is_never_given_is_refused(metric, k, said):
    asked = config(evaluation={"k": k, "suites": ["context", "q2c"]}, search={"trials": 1, "objectives": [{"metric": metric}]})
    with pytest.raises(InputError, match=said):
        raise InputError([*figure_problems(asked, [world()])])


def test_evidence_that_dev_does_not_label_is_no_objective():
    asked = config(evaluation={"suites": ["context"]}, search={"trials": 1, "objectives": [{"metric": "context/EvidenceRecall@10"}]})
    bare = replace(world(), queries=tuple(
        replace(query, targets=tuple(replace(target, evidence=()) for target in query.targets)) for query in world().queries
    ))  # fmt: skip
    assert not [*figure_problems(asked, [world()])] and [*figure_problems(asked, [bare])]
    assert not [*figure_problems(asked, [bare, world()])]  # one corpus of several is enough


def test_the_plan_says_so():
    with pytest.raises(InputError, match="search.objectives.0.metric"):
        plan(config(search={"trials": 1, "objectives": [{"metric": "context/Answer@3"}]}))
