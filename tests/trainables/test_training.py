"""The loop: it learns, resumes to the bit, caches gradients exactly, and stops at what is not finite."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from corpora.errors import InputError, NonFinite
from trainables import checkpoints
from trainables.loop import Loop, newest_checkpoint
from trainables.recipe import Recipe
from trainables.training import BuiltIn


def recipe(**fields) -> Recipe:
    return Recipe(**{
        "documents_per_batch": 4, "queries_per_document": 1, "steps": 10, "checkpoint_every": 5, "warmup_steps": 2,
        "decay_steps": 3, "learning_rate": 0.01, "dimensions": (4,), "chunking_mix": {"sentence": 1, "tokens:4": 1}, **fields,
    })


@pytest.fixture
def trainer(training_folder, tiny_base, tmp_path):
    def make(folder="trial", **fields):
        return Loop(BuiltIn, recipe(**fields), training_folder, tiny_base, tmp_path / folder)

    return make


def test_it_learns(trainer):
    trial = trainer(steps=60, decay_steps=0, documents_per_batch=6)
    first, last = trial.train(10), [trial.train(50), trial.train(60)][1]
    assert last["loss"] < 0.8 * first["loss"]
    assert last["loss/document"] < first["loss/document"] and last["loss/distillation"] < first["loss/distillation"]
    assert last["learning_rate"] == pytest.approx(0.01) and last["tokens"] > 100
    assert last["pairs"] == pytest.approx(6, abs=1) and last["zero_vectors"] == 0


@pytest.mark.parametrize("fields", [{}, {"objective": "gold", "quantiser": "int8-tanh"}, {"quantiser": "int8-absmax", "precision": "bf16"}])
def test_ten_steps_are_five_then_a_kill_then_five_to_the_bit(trainer, fields):
    straight = trainer("straight", **fields)
    straight.train(10)
    interrupted = trainer("interrupted", **fields)
    interrupted.train(5)
    interrupted.checkpoint()
    interrupted.train(7)  # lost with the process
    del interrupted
    torch.manual_seed(99)
    resumed = trainer("interrupted", **fields)
    assert resumed.step == 5
    resumed.train(10)
    first, second = straight.checkpoint(), resumed.checkpoint()
    for name in ("model.safetensors", "manifest.json", "state/state.safetensors"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_the_checkpoint_says_where_it_comes_from(trainer, tiny_base):
    trial = trainer(quantiser="int8-tanh")
    trial.train(5)
    path = trial.checkpoint()
    about = checkpoints.manifest(path)
    assert path.name == "step-000005" and not checkpoints.verify(path)
    assert (about.step, about.seed, about.quantiser, about.base) == (5, 0, "int8-tanh", tiny_base.name)
    assert about.recipe == trial.recipe.model_dump(mode="json")
    assert about.base_weights == checkpoints.manifest(tiny_base).files["model.safetensors"]


def test_another_seed_is_another_model(trainer):
    trials = [trainer(f"seed-{seed}", seed=seed) for seed in (0, 1)]
    for trial in trials:
        trial.train(3)
    assert not torch.equal(trials[0].trainer.student.projection.weight, trials[1].trainer.student.projection.weight)


@pytest.mark.parametrize("width", [1, 3])
def test_cached_gradients_are_those_of_one_pass(trainer, width):
    whole, parts = trainer("whole"), trainer("parts", documents_per_pass=width)
    for trial in (whole, parts):
        trial.trainer._backward(trial.trainer.batches.batch(0))
    for (name, one), other in zip(whole.trainer.student.named_parameters(), parts.trainer.student.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-6, msg=name)


def test_gradient_checkpointing_changes_no_gradient(trainer):
    plain, frugal = trainer("plain"), trainer("frugal", gradient_checkpointing=True)
    for trial in (plain, frugal):
        trial.trainer._backward(trial.trainer.batches.batch(0))
    for one, other in zip(plain.trainer.student.parameters(), frugal.trainer.student.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def test_the_weight_is_convex_and_norms_are_before_it(trainer):
    measures = {weight: trainer(f"w{weight}", weight=weight).train(1) for weight in (0.0, 0.25, 1.0)}
    for name in ("loss/document", "loss/distillation", "gradient_norm/document", "gradient_norm/distillation"):
        assert len({measure[name] for measure in measures.values()}) == 1
    assert measures[0.0]["loss"] == measures[0.0]["loss/document"]
    assert measures[1.0]["loss"] == measures[1.0]["loss/distillation"]
    mixed = 0.75 * measures[0.0]["loss"] + 0.25 * measures[1.0]["loss"]
    assert measures[0.25]["loss"] == pytest.approx(mixed)


def test_words_that_never_occur_keep_the_bytes_of_base(trainer, tiny_base):
    trial = trainer()
    trial.train(5)
    name = "encoder.embeddings.word_embeddings.weight"
    before, after = checkpoints.weights(tiny_base)[name], trial.trainer.student.state_dict()[name]
    unused = trial.trainer.student.tokenizer.backend.token_to_id("tenant"), trial.trainer.student.tokenizer.backend.token_to_id("sep")
    assert torch.equal(before[unused[1]], after[unused[1]])
    assert not torch.equal(before[unused[0]], after[unused[0]])


def test_a_loss_that_is_not_finite_stops_the_trial(trainer):
    trial = trainer()
    with torch.no_grad():
        trial.trainer.student.projection.weight.fill_(float("nan"))
    with pytest.raises(NonFinite, match="loss"):
        trial.train(1)
    assert trial.step == 0


def test_a_gradient_that_is_not_finite_stops_the_trial(trainer):
    trial = trainer()
    trial.trainer.student.projection.weight.register_hook(lambda gradient: gradient * float("inf"))
    with pytest.raises(NonFinite, match="gradient"):
        trial.train(1)


def test_a_damaged_checkpoint_is_put_aside_and_the_one_before_taken(trainer, tmp_path):
    trial = trainer()
    trial.train(5)
    first = trial.checkpoint()
    trial.train(10)
    second = trial.checkpoint()
    (second / "model.safetensors").write_bytes(b"cut")
    shutil.copytree(first, tmp_path / "trial" / ".step-000011.tmp")
    assert newest_checkpoint(tmp_path / "trial", 10) == first
    assert (tmp_path / "trial" / "step-000010.damaged").is_dir()
    assert newest_checkpoint(tmp_path / "nowhere", 10) is None
    resumed = trainer()
    resumed.train(10)
    assert resumed.checkpoint() == second and not checkpoints.verify(second)


def test_threads_and_determinism_are_put_back(trainer):
    torch.set_num_threads(1)
    trainer(threads=2).train(1)
    assert torch.get_num_threads() == 1 and not torch.are_deterministic_algorithms_enabled()


def _process(rank: int, count: int, meeting: str, data: Path, base: Path, folder: Path) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=count)
    trial = Loop(BuiltIn, recipe(documents_per_batch=5, queries_per_document=2), data, base, folder)
    measures = trial.train(3)
    trial.checkpoint()
    np.save(folder.parent / f"loss-{rank}.npy", measures["loss"])
    if rank == 0:
        with pytest.raises(InputError, match="each needs at least one"):
            torch.distributed.get_world_size = lambda: 9
            Loop(BuiltIn, recipe(), data, base, folder)
        torch.distributed.get_world_size = lambda: count
    torch.distributed.destroy_process_group()


def test_two_processes_train_as_one(trainer, training_folder, tiny_base, tmp_path):
    alone = trainer("alone", documents_per_batch=5, queries_per_document=2)
    measures = alone.train(3)
    folder = tmp_path / "together"
    torch.multiprocessing.start_processes(
        _process, (2, str(tmp_path / "meeting"), training_folder, tiny_base, folder), nprocs=2, start_method="fork")
    losses = [float(np.load(tmp_path / f"loss-{rank}.npy")) for rank in range(2)]
    assert losses == pytest.approx([measures["loss"]] * 2, rel=1e-5)
    together = checkpoints.weights(folder / "step-000003")
    for name, tensor in alone.trainer.student.state_dict().items():
        if "key.bias" in name:
            continue  # a softmax does not see it: its gradient is rounding, which AdamW scales up
        torch.testing.assert_close(together[name], tensor, rtol=1e-3, atol=1e-4, msg=name)
