"""Whatever stands at a key of a sweep's YAML, it loads or is refused in words: never a traceback."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import yaml

from corpora.errors import InputError
from sweeps.config import SweepConfig, load
from trainables.recipe import Recipe

VALUES = [3, -1, "x", "", [], {}, None, [1], ["a", "a"], {"a": {"b": [1]}}, float("inf"), float("nan"), [[[]]], 10**30, "~nobody/x",
          {"choice": []}, {"uniform": [1]}, {"when": {}}]  # fmt: skip
CORPORA = ("folder", "train", "dev", "confirm", "test", "shares", "seed", "threshold", "generate")


def keys() -> list[tuple[str, ...]]:
    """Every key of the top level, of the sections, of the recipe, and of each form of corpora."""
    found: list[tuple[str, ...]] = [("corpora", key) for key in CORPORA] + [("recipe", key) for key in Recipe.model_fields]
    for name, field in SweepConfig.model_fields.items():
        key = field.alias or name
        inner = getattr(field.annotation, "model_fields", {})
        found += [(key,), *((key, one.alias or part) for part, one in inner.items())]
    return found


@pytest.mark.parametrize("key", keys(), ids=".".join)
def test_any_value_loads_or_is_refused_in_words(tmp_path, key):
    path = tmp_path / "sweep.yaml"
    for value in VALUES:
        content = copy.deepcopy({"name": "x", "corpora": {"generate": "quick"}, "search": {"trials": 2}})
        (content if len(key) == 1 else content.setdefault(key[0], {}))[key[-1]] = value
        path.write_text(yaml.safe_dump(content))
        try:
            load(path)
        except InputError as refused:
            assert all(problem.message and str(problem.where).startswith(f"{path}:") for problem in refused.problems)


@pytest.mark.parametrize(
    ("corpora", "said"),
    [
        ("3", "2: corpora: takes {folder: ...}, {train: ..., dev: ...} or {generate: demo} (found 3)"),
        ("{train: d, dev: d, confirm: 3}", "2: corpora.confirm: a folder or a list of folders, found 3"),
        ("{train: 3, dev: d}", "2: corpora.train: a folder or a list of folders, each by name or as {folder: ..., weight: ...}; found 3"),
        ("{folder: ''}", "2: corpora.folder: String should have at least 1 character (found nothing)"),
        ("{folder: d, shares: {train: .8, dev: .4}}",
         "2: corpora: shares need dev and train, each over 0, and sum to 1: train 0.8 + dev 0.4 sum to 1.2, not to 1"),
        ("{folder: d, shares: {train: .5, confirm: .5}}",
         "2: corpora: shares need dev and train, each over 0, and sum to 1: dev has no share"),
        ("{train: [d, d], dev: e}", "2: corpora.train: names d twice"),
        ("{train: d, dev: [e, ./e]}", "2: corpora.dev: names e twice"),
    ],
)  # fmt: skip
def test_corpora_in_no_form_that_is_known(tmp_path, corpora, said):
    path = tmp_path / "sweep.yaml"
    path.write_text(f"name: x\ncorpora: {corpora}\nsearch: {{trials: 2}}\n")
    with pytest.raises(InputError) as refused:
        load(path)
    assert [str(problem).replace(f"{tmp_path}/", "") for problem in refused.value.problems] == [f"sweep.yaml:{said}"]


def test_a_sweep_cuts_as_the_command_does(tmp_path):
    """The same defaults: what `corpus split` writes is what a sweep of the whole folder would see."""
    from corpora.cutting import SHARES, THRESHOLD
    from sweeps.corpora_config import CutCorpora

    asked = CutCorpora(folder="d")
    assert (asked.threshold, asked.shares, asked.seed) == (THRESHOLD, SHARES, 0)
    text = (Path(__file__).parents[2] / "docs" / "corpora.md").read_text()
    assert f"share {THRESHOLD} of their word 5-grams" in text
