"""Names that MLflow would refuse at the end of a sweep are refused before it begins."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from sweeps.config import MLflow


@pytest.mark.parametrize("name", ["a/b", "a:b", "", " . ", "a\nb", "x" * 251])
def test_a_registered_model_needs_a_name_that_mlflow_takes(name):
    with pytest.raises(ValidationError):
        MLflow.model_validate({"register": name})


@pytest.mark.parametrize("name", ["mini-lm", "ü 日本 🙂 <b>'\"@", "x" * 250, None])
def test_every_other_name_is_kept(name):
    assert MLflow.model_validate({"register": name}).register_as == name


@pytest.mark.parametrize("name", ["", "x" * 501])
def test_an_experiment_has_a_name_of_mlflows_length(name):
    with pytest.raises(ValidationError):
        MLflow(experiment=name)
    assert MLflow(experiment="é/@ " * 125).experiment == "é/@ " * 125


@pytest.mark.parametrize("name", ["ü 日本 🙂 <b>'\"@", "x" * 250])
def test_mlflow_takes_what_is_not_refused(name, tmp_path):
    from sweeps import mlflow_store

    client = mlflow_store.open_client(mlflow_store.default_uri(tmp_path))
    client.create_registered_model(name)
    assert client.get_registered_model(name).name == name
