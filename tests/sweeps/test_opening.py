"""The test split: refused as a corpus, opened through its sweep, each opening on record."""

from __future__ import annotations

import pytest

from corpora import native
from corpora.documents import Corpus, Document, Query, Target
from corpora.errors import InputError
from corpora.splits import cut, freeze
from sweeps.ledger import Ledger
from sweeps.opening import open_test, refuse_test, split_folders

SHARES = {"train": 0.4, "dev": 0.2, "confirm": 0.2, "test": 0.2}


@pytest.fixture
def corpus():
    documents = tuple(Document(f"d{n}", f"text number {n} about {n * n}", family=f"f{n}") for n in range(20))
    return Corpus("c", documents, tuple(Query(f"q{n}", f"which {n}?", (Target(f"d{n}"),)) for n in range(20)))


@pytest.fixture
def cut_folder(corpus, tmp_path):
    parts = cut(corpus, SHARES)
    freeze(tmp_path / "cut", corpus, parts)
    for name, part in parts.items():
        native.write(part, tmp_path / "cut" / name)
    return tmp_path / "cut"


@pytest.fixture
def sweep(corpus, tmp_path):
    folder = tmp_path / "sweep"
    for name in ("dev", "test"):
        native.write(corpus, folder / "held" / name)
    places = {"splits": {"dev": ["held/dev"], "test": ["held/test", str(tmp_path / "own")]}}
    Ledger.create(folder, {"sweep_id": "s", "name": "n", "config": {}, "attributes": {}, "places": places}, 1.0)
    return folder


def test_what_is_frozen_as_test_is_refused(cut_folder, sweep):
    for folder in (cut_folder / "test", sweep / "held" / "test"):
        with pytest.raises(InputError, match="--open-test"):
            refuse_test(folder)
    for folder in (cut_folder / "dev", sweep / "held" / "dev", cut_folder.parent / "test"):
        refuse_test(folder)


def test_openings_are_recorded(sweep, tmp_path):
    times = iter(range(10, 100))
    for by in ("one", "two"):
        assert open_test(sweep, by, lambda: float(next(times))) == [sweep / "held" / "test", tmp_path / "own"]
    found = Ledger.open(sweep).state().openings
    assert [(each["split"], each["by"]) for each in found] == [("test", "one"), ("test", "two")]


def test_a_sweep_without_the_split(sweep):
    with pytest.raises(InputError, match="no confirm split; it has dev, test"):
        split_folders(sweep, "confirm")
