"""Encoders that bring code of their own: run only where the config says so, then everywhere a model is loaded."""

from __future__ import annotations

import json

import pytest

from corpora.errors import InputError
from tests.trainables.conftest import save_tiny_bert
from trainables.base import build_base
from trainables.baselines import IsolatedEncoder
from trainables.loading import trusting
from trainables.recipe import StudentConfig
from trainables.student import StudentEncoder

CODE = """
from transformers import BertConfig, BertModel
class OwnConfig(BertConfig):
    model_type = "own-bert"
class OwnModel(BertModel):
    config_class = OwnConfig
"""


@pytest.fixture(scope="module")
def own_encoder(tmp_path_factory):
    folder = save_tiny_bert(tmp_path_factory.mktemp("own") / "encoder")
    settings = json.loads((folder / "config.json").read_text())
    classes = {"AutoConfig": "own.OwnConfig", "AutoModel": "own.OwnModel"}
    (folder / "config.json").write_text(json.dumps(settings | {"model_type": "own-bert", "auto_map": classes}))
    (folder / "own.py").write_text(CODE)
    return folder


def test_code_of_its_own_is_refused_unless_the_config_trusts_it(own_encoder, tmp_path, monkeypatch):
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    config = StudentConfig(encoder=str(own_encoder), layers=2, dimension=8)
    with pytest.raises(InputError, match="student.trust_remote_code: true"):
        build_base(config, tmp_path)
    base = build_base(config.model_copy(update={"trust_remote_code": True}), tmp_path)
    assert (base / "own.py").read_text() == CODE
    for load in (StudentEncoder.load, IsolatedEncoder.load):
        folder = base if load == StudentEncoder.load else own_encoder
        with pytest.raises(InputError, match="student.trust_remote_code: true"):
            load(folder)
        with trusting(True):
            encoder = load(folder)
        assert encoder.queries(["who pays rent"]).shape == (1, encoder.dimension)
        with pytest.raises(InputError):
            load(folder)
