"""The image's recipe copies what exists; the compose file holds no secret and listens on loopback."""

from __future__ import annotations

import re
import tomllib

import yaml

from cluster import compose, image
from tests.cluster.descriptions import ROOT, example, smallest


def test_the_image_has_the_versions_and_every_package():
    text = image.dockerfile(smallest(ray="2.60.0", python="3.11"))
    assert "FROM rayproject/ray:2.60.0-py311-gpu" in text
    copied = [word for line in re.findall(r"^COPY --chown=\S+ (.*) \S+$", text, re.MULTILINE) for word in line.split()]
    assert all((ROOT / name).exists() for name in copied)
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    assert {name.partition(".")[0] for name in packages} <= set(copied)
    assert "-cpu" in image.dockerfile(smallest(workers=[{}]))


def test_the_compose_file_is_whole():
    content = yaml.safe_load(compose.render(example()))
    services = content["services"]
    assert set(services) == {"postgres", "s3", "mlflow"}
    for service in services.values():
        assert ("image" in service) != ("build" in service) and "healthcheck" in service
        assert set(service.get("depends_on", {})) <= set(services) and set(service["networks"]) <= set(content["networks"])
        for volume in service["volumes"]:
            assert volume.partition(":")[0] in content["volumes"]
        for held in service.get("configs", ()):
            assert held["source"] in content["configs"]


def test_secrets_are_variables_that_must_be_set_and_are_on_no_command_line():
    services = yaml.safe_load(compose.render(example()))["services"]
    for service in services.values():
        assert "${" not in str(service.get("command", "")) and "${" not in str(service["healthcheck"])
        for name, value in service["environment"].items():
            if re.search("PASSWORD|SECRET|KEY", name):
                assert re.fullmatch(r"\$\{\w+:\?[^}]+\}", value), name


def test_only_mlflow_is_published_and_on_loopback():
    services = yaml.safe_load(compose.render(example()))["services"]
    assert {name for name, service in services.items() if "ports" in service} == {"mlflow"}
    assert services["mlflow"]["ports"] == ["${MLFLOW_LISTEN:-127.0.0.1}:5000:5000"]


def test_the_server_knows_the_name_that_it_is_called_by():
    command = yaml.safe_load(compose.render(example()))["services"]["mlflow"]["command"][-1]
    assert "--app-name basic-auth" in command and "mlflow.internal,mlflow.internal:*" in command
    assert "mlflow.internal" not in compose.render(smallest())
