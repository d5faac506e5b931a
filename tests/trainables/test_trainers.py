"""A user's own trainer: found, checked, trained, resumed to the bit; the example in the documentation is one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from corpora.errors import InputError, NonFinite
from trainables import checkpoints
from trainables.loop import Loop
from trainables.trainers import source_of, trainer_of
from trainables.training import BuiltIn

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_trainer.py"
SPELLED = f"{EXAMPLE}:MarginTrainer"


def loop(kind, folder, training_folder, tiny_base, up_to=None, **fields) -> Loop:
    return Loop(kind, kind.Recipe(steps=40, checkpoint_every=3, seed=1, **fields), training_folder, tiny_base, folder, up_to)


def test_the_example_is_short_and_learns(training_folder, tiny_base, tmp_path):
    assert len(EXAMPLE.read_text().splitlines()) <= 60
    trial = loop(trainer_of(SPELLED), tmp_path, training_folder, tiny_base, learning_rate=0.01)
    first, last = trial.train(5)["loss"], [trial.train(30), trial.train(40)][1]["loss"]
    assert last < 0.8 * first


@pytest.mark.parametrize("spelled", [SPELLED, None])
def test_every_trainer_resumes_to_the_bit(training_folder, tiny_base, tmp_path, spelled):
    kind = trainer_of(spelled)
    straight = loop(kind, tmp_path / "straight", training_folder, tiny_base)
    straight.train(6)
    begun = loop(kind, tmp_path / "resumed", training_folder, tiny_base)
    begun.train(3)
    begun.checkpoint()
    begun.train(5)  # lost with the process
    torch.manual_seed(99)
    resumed = loop(kind, tmp_path / "resumed", training_folder, tiny_base)
    assert resumed.step == 3
    resumed.train(6)
    one, other = straight.checkpoint(), resumed.checkpoint()
    for name in ("model.safetensors", "manifest.json", "state/state.safetensors"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    about = checkpoints.manifest(other)
    assert (about.step, about.seed, about.recipe) == (6, 1, straight.recipe.model_dump(mode="json"))
    assert about.base_weights == checkpoints.manifest(tiny_base).files["model.safetensors"]


def test_measures_that_are_not_finite_fail_the_trial(training_folder, tiny_base, tmp_path):
    class Diverged(trainer_of(SPELLED)):
        def train(self, steps):
            return {"loss": float("nan")}

    trial = loop(Diverged, tmp_path, training_folder, tiny_base)
    with pytest.raises(NonFinite, match="steps 0 to 3: loss is nan"):
        trial.train(3)
    assert trial.step == 0


def test_the_built_in_one_is_a_trainer_too():
    assert trainer_of(None) is BuiltIn and trainer_of("trainables.training:BuiltIn") is BuiltIn
    assert source_of(SPELLED) == EXAMPLE


def test_an_edited_file_is_another_class_and_another_source(tmp_path):
    file = tmp_path / "mine.py"
    shutil.copy(EXAMPLE, file)
    first = trainer_of(f"{file}:MarginTrainer")
    assert trainer_of(f"{file}:MarginTrainer") is first
    file.write_text(file.read_text().replace("Field(0.2,", "Field(0.3,"))
    assert trainer_of(f"{file}:MarginTrainer").Recipe().margin == 0.3


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (None, "X", "mine.py is no file; a relative path starts at the YAML's folder"),
        ("class X: pass", "Y", "has no 'Y'"),
        ("class X: pass", "X", "lacks the method train"),
        ("class X: pass", "X", "needs an attribute `Recipe`"),
        ("X = 3", "X", "is no class"),
        ("import nothing_of_that_name", "X", "cannot be imported (ModuleNotFoundError"),
        ("def (", "X", "cannot be imported (SyntaxError"),
    ],
)
def test_what_is_no_trainer_is_refused_with_the_reason(tmp_path, content, name, message):
    file = tmp_path / "mine.py"
    if content is not None:
        file.write_text(content)
    with pytest.raises(InputError) as error:
        trainer_of(f"{file}:{name}")
    assert message in str(error.value)
