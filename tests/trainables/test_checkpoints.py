"""A checkpoint is whole, self-contained, the same bytes for the same weights, and resumes exactly."""

from __future__ import annotations

import json
import shutil

import pytest
import torch

from corpora.errors import InputError
from trainables import checkpoints
from trainables.student import Student

QUERIES = ["who pays rent?", "the cat sat on the mat", "dog"]


def optimiser_of(student: Student) -> torch.optim.AdamW:
    return torch.optim.AdamW(student.parameters(), lr=0.01, weight_decay=0.1)


def updates(student: Student, optimiser, count: int) -> None:
    for _ in range(count):
        optimiser.zero_grad()
        target = torch.rand(3, student.dimension)
        ((student.forward_queries(QUERIES) - target) ** 2).sum().backward()
        optimiser.step()


@pytest.fixture
def saved(tiny_base, tmp_path):
    """Three updates, then a checkpoint with its state."""
    torch.manual_seed(5)
    student = Student.load(tiny_base)
    optimiser = optimiser_of(student)
    updates(student, optimiser, 3)
    folder = student.save(tmp_path / "step-000003", step=3, seed=5, recipe={"weight": 0.5}, quantiser="int8-tanh",
                          state=checkpoints.State.of(optimiser))
    return student, optimiser, folder


def test_it_comes_back_as_it_was(saved, tiny_base, tmp_path):
    student, _, folder = saved
    moved = shutil.copytree(folder, tmp_path / "elsewhere")
    again = Student.load(moved)
    assert all(torch.equal(a, b) for a, b in zip(student.state_dict().values(), again.state_dict().values(), strict=True))
    about, base = again.about, checkpoints.manifest(tiny_base)
    assert (about.step, about.seed, about.recipe, about.quantiser) == (3, 5, {"weight": 0.5}, "int8-tanh")
    assert (about.base, about.base_weights, about.frame) == (base.base, base.base_weights, base.frame)
    assert all(tensor.dtype == torch.float32 for tensor in checkpoints.weights(folder).values())
    assert checkpoints.verify(folder) == []


def test_same_weights_are_same_bytes(saved, tmp_path):
    student, _, folder = saved
    again = Student.load(folder).save(tmp_path / "again", step=3, seed=5, recipe={"weight": 0.5}, quantiser="int8-tanh")
    for name in (*student.about.files, "manifest.json"):
        assert (again / name).read_bytes() == (folder / name).read_bytes()


def test_resumed_training_is_training_that_never_stopped(saved):
    student, optimiser, folder = saved
    updates(student, optimiser, 2)
    torch.manual_seed(99)
    resumed = Student.load(folder)
    fresh = optimiser_of(resumed)
    checkpoints.read_state(folder).restore(fresh)
    updates(resumed, fresh, 2)
    assert all(torch.equal(a, b) for a, b in zip(student.parameters(), resumed.parameters(), strict=True))


def test_the_state_is_no_pickle_and_may_be_left_out(saved, tiny_base):
    _, _, folder = saved
    assert {path.name for path in (folder / "state").iterdir()} == {"state.json", "state.safetensors"}
    json.loads((folder / "state" / "state.json").read_text())
    assert checkpoints.read_state(tiny_base) is None


def test_verify_names_every_file_that_changed_or_is_missing(saved):
    _, _, folder = saved
    for name in ("model.safetensors", "state/state.safetensors"):
        content = bytearray((folder / name).read_bytes())
        content[-1] ^= 1
        (folder / name).write_bytes(content)
    (folder / "tokenizer.json").unlink()
    where = {problem.where for problem in checkpoints.verify(folder)}
    assert where == {str(folder / name) for name in ("model.safetensors", "state/state.safetensors", "tokenizer.json")}
    with pytest.raises(InputError):
        Student.load(folder)
    with pytest.raises(InputError):
        checkpoints.read_state(folder)


def test_a_state_cut_short_is_found(saved):
    _, _, folder = saved
    (folder / "state" / "state.json").write_text('{"groups": [')
    (problem,) = checkpoints.verify(folder)
    assert problem.where.endswith("state.safetensors")
    with pytest.raises(InputError, match="resume from an earlier checkpoint"):
        checkpoints.read_state(folder)


def test_verify_finds_numbers_that_are_not_finite(tiny_base, tmp_path):
    student = Student.load(tiny_base)
    with torch.no_grad():
        student.projection.weight[0, 0] = float("nan")
    folder = student.save(tmp_path / "broken", step=1, seed=0)
    (problem,) = checkpoints.verify(folder)
    assert problem.where.endswith("projection.weight") and "not finite" in problem.message


def test_a_folder_that_is_no_checkpoint_is_refused(tmp_path):
    (problem,) = checkpoints.verify(tmp_path)
    assert "manifest.json" in problem.where
    (tmp_path / "manifest.json").write_text('{"format": 1, "base": 3}')
    assert {"base", "frame", "files"} <= {problem.where.rsplit(": ")[-1] for problem in checkpoints.verify(tmp_path)}


def test_a_failed_save_leaves_nothing_behind(tiny_base, tmp_path):
    student = Student.load(tiny_base)
    with pytest.raises(ValueError):
        student.save(tmp_path / "step", step=1, seed=0, quantiser="int4")
    assert list(tmp_path.iterdir()) == []
