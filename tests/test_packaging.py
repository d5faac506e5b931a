"""What `pip install` of this repository installs: every package, and the files that commands read."""

from __future__ import annotations

import tomllib
import zipfile
from pathlib import Path

import pytest
from setuptools.build_meta import build_wheel

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
ROOMS = ("corpora", "evaluators", "trainables", "sweeps", "cluster", "stockpot")


def test_every_package_is_named():
    found = {path.parent.relative_to(ROOT).as_posix().replace("/", ".") for room in ROOMS for path in (ROOT / room).rglob("__init__.py")}
    assert sorted(SETTINGS["packages"]) == sorted(found)
    sources = {path.parent for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    assert all((folder / "__init__.py").is_file() for folder in sources), "a folder of sources without __init__.py is no package"


@pytest.mark.filterwarnings("ignore")  # setuptools wonders at a folder of data inside a package
def test_a_wheel_holds_every_source_and_every_file_that_lies_in_a_package(tmp_path, monkeypatch):
    """Built from a copy, as `pip install .` builds it: nothing is written into the repository."""
    copy = tmp_path / "source"
    names = [path for room in ROOMS for path in (ROOT / room).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    for path in [*names, ROOT / "pyproject.toml", ROOT / "README.md"]:
        target = copy / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    monkeypatch.chdir(copy)
    wheel = zipfile.ZipFile(tmp_path / build_wheel(str(tmp_path)))
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == {path.relative_to(ROOT).as_posix() for path in names}
    assert {"stockpot/examples/demo.yaml", "stockpot/examples/demo-quick.yaml"} <= held
