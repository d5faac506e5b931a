"""`stockpot prepare`: what it makes is what the sweep finds, and splits never change under a sweep."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corpora.errors import InputError
from sweeps import config
from sweeps.plan import plan
from sweeps.preparation import prepare_sweep
from tests.stockpot.command import stockpot
from tests.sweeps.tiny_sweep import sweep_file


def listing(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_what_is_prepared_is_what_a_sweep_finds_and_asking_again_changes_nothing(tmp_path):
    file, out = sweep_file(tmp_path), tmp_path / "out"
    told = json.loads(stockpot("prepare", file, "--out", out, "--json").stdout)
    assert set(told["splits"]) >= {"train", "dev", "confirm"}
    assert all(Path(told[name]).is_dir() for name in ("sweep", "base", "data", "inline"))
    before = listing(out)
    loaded = config.load(file)
    found = prepare_sweep(loaded, out, lambda line: None)
    assert [str(found.base), str(found.data), str(found.inline)] == [told["base"], told["data"], told["inline"]]
    assert listing(out) == before
    assert told["hashes"] == found.hashes == plan(loaded).data

    other = sweep_file(tmp_path, corpora={"generate": "quick", "seed": 1})
    with pytest.raises(InputError, match="(?s)'seed': 0.*'seed': 1.*another --out"):
        prepare_sweep(config.load(other), out, lambda line: None)
    assert listing(out) == before


def test_a_wrong_sweep_prepares_nothing(tmp_path):
    refused = stockpot("prepare", sweep_file(tmp_path, serach={}), "--out", tmp_path / "out", check=False)
    assert refused.returncode == 2 and "serach" in refused.stderr
    assert not (tmp_path / "out").exists()
