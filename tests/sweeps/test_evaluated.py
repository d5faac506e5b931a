from __future__ import annotations

import pytest

from corpora.errors import InputError
from evaluators.results import Results
from sweeps.evaluated import evaluated
from tests.sweeps import made_ledgers


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    ledger = made_ledgers.begin(folder)
    made_ledgers.baselines(ledger)
    for ordinal in (0, 1):
        made_ledgers.trial(ledger, ordinal, steps=(20, 40))
        for step in (20, 40):
            made_ledgers.write_results(folder / f"ledger/scores/{ordinal}-{step}.parquet", ordinal, step)
            (folder / f"trials/{ordinal}/step-{step:06d}").mkdir(parents=True)
    made_ledgers.trial(ledger, 2, steps=())
    return folder


@pytest.mark.parametrize(("which", "file", "name"), [
    (":0", "0-40.parquet", "trial 0, step 40, dev"),
    (":1@20", "1-20.parquet", "trial 1, step 20, dev"),
    (":1", "1-40.parquet", "trial 1, step 40, dev"),
    ("/trials/1/step-000040", "1-40.parquet", "trial 1, step 40, dev"),
])
def test_a_checkpoint_by_number_step_and_folder(sweep, which, file, name):
    found = evaluated(f"{sweep}{which}", "dev")
    assert (found.per_query, found.name, found.sweep) == (sweep / "ledger/scores" / file, name, sweep)
    assert Results.from_parquet(found.per_query).encoder == file[0]


@pytest.mark.parametrize(("which", "split", "message"), [
    (":7", "dev", "the sweep has no trial 7; it has 0 to 2"),
    (":0@30", "dev", "trial 0 has no checkpoint of step 30 that was evaluated on dev; evaluated are the steps 20, 40"),
    (":0", "confirm", "evaluated on confirm; evaluated are the steps none"),
    (":2", "dev", "trial 2 has no checkpoint that was evaluated"),
    (":nobody", "dev", "no baseline on dev; there are BM25, untrained student"),
    (":BM25", "dev", "holds no per-query values of it on dev: run `stockpot evaluate CHECKPOINT"),
    ("/trials/1", "dev", "is no checkpoint that the ledger of"),
])
def test_what_the_sweep_does_not_hold_is_named(sweep, which, split, message):
    with pytest.raises(InputError, match=message):
        evaluated(f"{sweep}{which}", split)


def test_without_a_step_it_is_the_trials_best_as_every_view_shows_it(tmp_path):
    ledger = made_ledgers.begin(tmp_path)
    made_ledgers.trial(ledger, 0, steps=(20,), end="")
    made_ledgers.advance(ledger, 0, 40, scored=False)
    lower = {name: value - 0.1 for name, value in made_ledgers.figures(0, 20).items()}
    ledger.append("scores", {"ordinal": 0, "step": 40, "split": "dev", "figures": lower, "per_query": "ledger/scores/0-40.parquet", "seconds": 1.0}, 1e9)
    for step in (20, 40):
        made_ledgers.write_results(tmp_path / f"ledger/scores/0-{step}.parquet", 0, step)
    assert evaluated(f"{tmp_path}:0", "dev").name == "trial 0, step 20, dev"


def test_other_places_are_none_of_a_sweep(sweep, tmp_path):
    assert evaluated(str(tmp_path), "dev") is None
    assert evaluated(f"{tmp_path}:0", "dev") is None
    assert evaluated(str(sweep / "nothing"), "dev") is None
