"""The sweep's YAML: all mistakes at once, each with its line and key."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from corpora.errors import InputError
from sweeps.code_hash import code_hash
from sweeps.config import SUITES, SweepConfig, load
from sweeps.corpora_config import CutCorpora, GeneratedCorpora, SplitCorpora, train_corpora

GOOD = """\
name: a sweep
corpora: {folder: contracts, shares: {train: .6, dev: .2, confirm: .2}}
recipe:
  weight: {uniform: [0, 1]}
  learning_rate: {loguniform: [1e-5, 1e-3]}
search: {sampler: tpe, trials: 8}
scheduler: {kind: asha, grace: 20}
"""


def written(folder, text: str):
    path = folder / "sweep.yaml"
    path.write_text(text)
    return path


def problems(folder, text: str) -> list[str]:
    with pytest.raises(InputError) as error:
        load(written(folder, text))
    return [str(problem).removeprefix(str(folder)) for problem in error.value.problems]


def test_a_good_file_loads_with_paths_from_its_own_folder(tmp_path):
    config = load(written(tmp_path, GOOD))
    assert config.corpora == CutCorpora(folder=str(tmp_path / "contracts"))
    assert config.order == "asynchronous" and config.resources.slots == 2
    assert config.recipe["learning_rate"] == {"loguniform": [1e-5, 1e-3]}
    assert [objective.metric for objective in config.soup_objectives] == ["context/Answer@10", "context/Document@1"]


def test_every_mistake_comes_with_line_and_key(tmp_path):
    text = GOOD.replace("uniform: [0, 1]", "uniform: [0, 2]", 1).replace("grace: 20", "grase: 20")
    text += "evaluation: {suites: [context, contxt], k: [10, 10]}\nresorces: {slots: 1}\norder: any\n"
    *most, last = map(repr, SUITES)
    allowed = f"{', '.join(most)} or {last}"
    assert problems(tmp_path, text) == [
        "/sweep.yaml:4: recipe.weight: Input should be less than or equal to 1 (found 2)",
        "/sweep.yaml:7: scheduler.grase: unknown key; did you mean 'grace'?",
        f"/sweep.yaml:8: evaluation.suites.1: Input should be {allowed} (found contxt)",
        "/sweep.yaml:8: evaluation.k: distinct positive numbers are needed, found [10, 10]",
        "/sweep.yaml:10: order: Input should be 'deterministic' or 'asynchronous' (found any)",
        "/sweep.yaml:9: resorces: unknown key; did you mean 'resources'?",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: a sweep\n", "", "name: this key is missing"),
        ("trials: 8", "seed: 1", "sampler tpe needs `trials`"),
        ("sampler: tpe", "sampler: grid", "grid cannot list an interval"),
        ("folder: contracts", "fodler: contracts", "corpora.train: this key is missing"),
        ("confirm: .2}", "confirm: .3}", "sum to 1"),
        ("trials: 8", "trials: 8, constraints: [{metric: q2d/nDCG@10}]", "one of at_least, at_most, not_below is needed; found none"),
        ("trials: 8", "trials: 8, constraints: [{metric: needle/x, at_least: 1}]", "needle/x needs the suite needle"),
        ("trials: 8", "trials: 8, constraints: [{metric: q2d/x, at_least: 1, by: 0.1}]", "`by` belongs to not_below"),
        ("sampler: tpe, trials: 8", "sampler: nsga2, trials: 8, startup: 1", "`startup`, its population, is at least 2"),
        ("trials: 8", "trials: 8, objectives: [{metric: nonsense}]", "a figure is `suite/metric`"),
        ("trials: 8", "trials: 8, objectives: []", "at least 1 item"),
        ("trials: 8", "trials: 8, objectives: [{metric: q2c/nDCG@10}, {metric: q2c/nDCG@10}]", "q2c/nDCG@10 stands twice"),
        ("trials: 8", "trials: 8, seed: 4294967296", "less than or equal to 4294967295"),
        ("trials: 8", "trials: 1000001", "less than or equal to 1000000"),
        ("trials: 8", "trials: 8, objectives: [{metric: spans/SpanHit@5}]", "needs the suite spans"),
        ("weight: {uniform: [0, 1]}", "dimensions: [768]", "768 is over student.dimension 384"),
        ("search:", "evaluation: {dimensions: [512]}\nsearch:", "over student.dimension 384"),
        ("weight: {uniform: [0, 1]}", 'steps: "6"', 'recipe.steps: a number is needed, found the text "6": write it without quotes'),
        ("weight: {uniform: [0, 1]}", 'dimensions: ["384", 64]', 'recipe.dimensions: a number is needed, found the text "384"'),
        ("weight: {uniform: [0, 1]}", 'steps: {choice: ["6", 8]}', 'recipe.steps: a number is needed, found the text "6"'),
        ("weight: {uniform: [0, 1]}", "steps: 99999999999999999999999", "recipe.steps: Input should be less than or equal to 1000000000"),
        ("weight: {uniform: [0, 1]}", "steps: true", "recipe.steps: a number is needed, found true"),
        ("weight: {uniform: [0, 1]}", "dimensions: 384", "recipe.dimensions: a list is needed (found 384)"),
        ("weight: {uniform: [0, 1]}", "decay_steps: [2]", "recipe.decay_steps: a whole number is needed (found [2])"),
        ("weight: {uniform: [0, 1]}", 'gradient_checkpointing: "yes"', 'recipe.gradient_checkpointing: true or false is needed, found "yes"'),
        ("trials: 8", 'trials: "8"', 'search.trials: a number is needed, found the text "8"'),
        ("search:", "storage: ftp://x/y\nsearch:", "storage: ftp:// is no storage: file://, s3://, gs://"),
        ("search:", "student: 5\nsearch:", "student: a mapping of keys is needed (found 5)"),
        ("grace: 20", "metric: dev/x", "'inline/Answer@10' or 'inline/Document@1'"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, old, new, message):
    assert old in GOOD
    assert any(message in problem for problem in problems(tmp_path, GOOD.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1", "/sweep.yaml:1: is not YAML"),
        ("- a\n- b\n", "/sweep.yaml:1: the whole is a mapping of keys, `key: value`; found a list"),
        ("", "/sweep.yaml:1: the whole is a mapping of keys, `key: value`; found nothing"),
        (GOOD + "name: again\n", "/sweep.yaml:8: name: this key stands on line 1 already"),
        (GOOD.replace("weight:", "top_n: 3\n  top_n: 4\n  weight:"), "/sweep.yaml:5: top_n: this key stands on line 4"),
    ],
)
def test_what_is_no_yaml_is_refused(tmp_path, text, message):
    assert any(message in problem for problem in problems(tmp_path, text))


def test_an_absent_and_a_binary_file_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path / "absent.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"name: \xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        load(tmp_path / "binary.yaml")


@pytest.mark.parametrize(
    ("corpora", "kind"),
    [
        ("{folder: a}", CutCorpora),
        ("{train: a, dev: [b, c], confirm: d}", SplitCorpora),
        ("{train: [{folder: a, weight: 2}, e], dev: b}", SplitCorpora),
        ("{folder: a, train: [b, {folder: c}], shares: {dev: .5, confirm: .5}}", CutCorpora),
        ("{generate: demo, seed: 3}", GeneratedCorpora),
    ],
)
def test_a_config_survives_json_and_pickle_with_its_hash(tmp_path, corpora, kind):
    config = load(
        written(tmp_path, GOOD.replace("{folder: contracts, shares: {train: .6, dev: .2, confirm: .2}}", corpora))
    )
    assert isinstance(config.corpora, kind)
    again = SweepConfig.model_validate(json.loads(json.dumps(config.model_dump(mode="json", by_alias=True))))
    assert again == config and again.sha256 == config.sha256
    assert pickle.loads(pickle.dumps(config)).sha256 == config.sha256


def test_numbers_are_read_as_people_write_them(tmp_path):
    text = (
        GOOD.replace("{loguniform: [1e-5, 1e-3]}", "{choice: [1e-4, 2E-4, 1.5e-4, .001]}") + "mlflow: {register: on}\n"
    )
    config = load(written(tmp_path, text))
    assert config.recipe["learning_rate"]["choice"] == [1e-4, 2e-4, 1.5e-4, 0.001]
    assert config.mlflow.register_as == "on"


def test_training_corpora_and_their_weights(tmp_path):
    corpora = "{train: [{folder: a, weight: 2}, b], dev: c}"
    config = load(written(tmp_path, GOOD.replace("{folder: contracts, shares: {train: .6, dev: .2, confirm: .2}}", corpora)))
    found = [(one.folder, one.weight) for one in train_corpora(config.corpora)]
    assert found == [(str(tmp_path / "a"), 2), (str(tmp_path / "b"), 1)]
    assert train_corpora(load(written(tmp_path, GOOD)).corpora) == ()
    text = GOOD.replace("{folder: contracts, shares: {train: .6, dev: .2, confirm: .2}}", "{train: [{folder: a, wieght: 2}], dev: c}")
    assert problems(tmp_path, text) == ["/sweep.yaml:2: corpora.train.0.wieght: unknown key; did you mean 'weight'?"]


OWN = """
from pydantic import Field
from trainables.recipe import LoopRecipe
class Own(LoopRecipe):
    margin: float = Field(0.2, gt=0)
class Mine:
    Recipe = Own
    train = save = load = print
"""


def test_an_own_trainer_brings_its_own_settings(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    text = "name: own\ntrainer: mine.py:Mine\ncorpora: {generate: quick}\nsearch: {trials: 3}\nrecipe:\n  margin: {uniform: [0.1, 0.5]}\n  steps: 4\n"
    config = load(written(tmp_path, text))
    assert config.trainer == f"{tmp_path / 'mine.py'}:Mine"
    recipe = config.space.sample(np.random.default_rng(0)).recipe
    assert type(recipe).__name__ == "Own" and 0.1 <= recipe.margin <= 0.5 and recipe.steps == 4
    again = SweepConfig.model_validate(config.model_dump(mode="json", by_alias=True))
    assert again.sha256 == config.sha256
    assert problems(tmp_path, text.replace("margin:", "weight: 0.5\n  margn:").replace("[0.1", "[-1")) == [
        "/sweep.yaml:6: recipe.weight: unknown key; allowed: steps, checkpoint_every, quantiser, threads, seed, margin",
        "/sweep.yaml:7: recipe.margn: unknown key; did you mean 'margin'?",
    ]
    assert "recipe.margin: Input should be greater than 0" in problems(tmp_path, text.replace("[0.1", "[-1"))[0]
    assert problems(tmp_path, text.replace(":Mine", ":Yours")) == [
        f"/sweep.yaml:2: trainer: {tmp_path / 'mine.py'} has no 'Yours': the spelling is `file.py:Class` or `module.path:Class`"
    ]
    before = code_hash(config.trainer)
    assert code_hash(config.trainer) == before != code_hash()
    (tmp_path / "mine.py").write_text(OWN + "# changed\n")
    assert code_hash(config.trainer) != before
