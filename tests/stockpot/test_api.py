"""`stockpot.open`: the ledger as DataFrames, while it grows, with errors that say what there is; and docs/api.md runs."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import stockpot
from corpora.errors import InputError, StockpotError
from stockpot.contract import sweep_object
from sweeps.lease import Lease
from sweeps.ledger import Ledger
from tests.sweeps import made_ledgers, made_searches as made

ANSWER = "dev/context/Answer@10"
DOCS = Path(__file__).parents[2] / "docs" / "api.md"


@pytest.fixture
def ledger(tmp_path):
    ledger = made_ledgers.begin(tmp_path)
    for ordinal, end in enumerate(("finished", "stopped")):
        made_ledgers.trial(ledger, ordinal, end)
        made_ledgers.write_results(tmp_path / f"ledger/scores/{ordinal}-60.parquet", ordinal, 60)
    made_ledgers.trial(ledger, 2, "failed", steps=(), reason="<b>not finite</b>")
    made_ledgers.baselines(ledger)
    return ledger


def test_trials_are_rows_with_params_best_step_and_its_figures(ledger, tmp_path):
    trials = stockpot.open(tmp_path).trials
    assert trials.index.tolist() == [0, 1, 2] and trials.index.name == "ordinal"
    assert trials.columns[:5].tolist() == ["trial_id", "status", "reason", "varied", "step"]
    assert trials.status.tolist() == ["finished", "stopped", "failed"] and trials.reason[2] == "<b>not finite</b>"
    assert trials["params.weight"].tolist() == [0, 0.25, 0.5] and trials["params.chunking_mix.sentence"].tolist() == [1.0] * 3
    assert trials.step.tolist()[:2] == [60, 60] and np.isnan(trials.step[2])
    assert trials[ANSWER].tolist()[:2] == [made_ledgers.figures(ordinal, 60)[ANSWER] for ordinal in (0, 1)]
    assert trials.varied[1] == {"weight": 0.25, "chunking_mix": {"sentence": 1.0}}


def test_checkpoints_and_reports_are_tidy(ledger, tmp_path):
    sweep = stockpot.open(str(tmp_path))
    checkpoints = sweep.checkpoints
    assert checkpoints.index.tolist() == [(ordinal, step) for ordinal in (0, 1) for step in (20, 40, 60)]
    assert checkpoints.loc[(1, 40), "folder"] == str(tmp_path / "trials/1/step-000040")
    assert checkpoints.loc[(1, 40), "sha256"] == f"{1:032d}{40:032d}"
    assert checkpoints.loc[(1, 40), ANSWER] == made_ledgers.figures(1, 40)[ANSWER]
    reports = sweep.reports
    assert reports.columns.tolist() == ["ordinal", "step", "metric", "value"] and len(reports) == 2 * 3 * 3
    assert reports.query("ordinal == 1 and step == 40 and metric == 'loss'").value.tolist() == [3 / 40]


def test_baselines_soup_and_config(ledger, tmp_path):
    sweep = stockpot.open(tmp_path)
    assert sweep.baselines.index.tolist() == [("BM25", "dev"), ("untrained student", "dev")]
    assert sweep.baselines.loc[("BM25", "dev"), ANSWER] == made_ledgers.figures(0, 0)[ANSWER]
    assert sweep.soup is None
    made_ledgers.ship(ledger, tmp_path)
    assert sweep.soup["decision"] == "soup" and sweep.soup["folder"] == str(tmp_path / "soup")
    sweep.config["name"] = sweep.soup["metrics"][ANSWER] = "changed by the caller"
    assert sweep.config["name"] == "made" and sweep.soup["metrics"][ANSWER] != "changed by the caller"


def test_a_running_sweep_grows_under_its_reader(tmp_path):
    ledger = made_ledgers.begin(tmp_path)
    sweep, lease = stockpot.open(tmp_path), Lease.acquire(tmp_path, "driver", time.time())
    assert repr(sweep) == f"<sweep 'made': running, 0 trials, {tmp_path}>"
    for frame in (sweep.trials, sweep.checkpoints, sweep.reports, sweep.baselines):
        assert isinstance(frame, pd.DataFrame) and frame.empty
    made_ledgers.trial(ledger, 0, end="", steps=(20,))
    assert sweep.trials.status.tolist() == ["running"] and len(sweep.checkpoints) == 1 and sweep.status == "running"
    lease.release()  # its driver is gone, killed say, and closed nothing
    assert sweep.trials.status.tolist() == ["interrupted"] and sweep.status == "interrupted"
    told = sweep_object(tmp_path, Ledger.open(tmp_path).state(), {})
    assert told["status"] == "interrupted" and told["trials"][0]["status"] == "interrupted"
    made_ledgers.close(ledger, "interrupted")
    assert sweep.trials.status.tolist() == ["interrupted"] and sweep.status == "interrupted"


def test_queries_carry_their_family_and_come_of_one_or_of_all(ledger, tmp_path):
    sweep = stockpot.open(tmp_path)
    one = sweep.per_query(1, 60)
    assert {"suite", "task", "chunking", "dimension", "precision", "metric", "query", "value", "family", "ability", "domain"} == set(one)
    mine = one.query("suite == 'context' and metric == 'Answer@10'")
    assert mine["query"].tolist() == ["q1", "q2"] and mine.family.tolist() == ["f", "f"]
    assert mine.value.tolist() == [made_ledgers.figures(1, 60)[ANSWER]] * 2
    pd.testing.assert_frame_equal(sweep.per_query(1), one)
    every = sweep.per_query()
    assert set(zip(every.ordinal, every.step)) == {(0, 60), (1, 60)} and len(every) == len(one) + len(sweep.per_query(0))


@pytest.mark.parametrize(("asked", "words"), [
    (lambda sweep: sweep.per_query(9), "trial 9: is not in this sweep; it has 3, numbered from 0"),
    (lambda sweep: sweep.per_query("0"), "trial '0': is not in this sweep"),
    (lambda sweep: sweep.per_query(True), "trial True: is not in this sweep"),
    (lambda sweep: sweep.per_query(1, 50), "trial 1: has no checkpoint at step 50; it has 20, 40, 60"),
    (lambda sweep: sweep.per_query(1, 60, "confirm"), "trial 1 at step 60: has no scores on confirm; it has dev"),
    (lambda sweep: sweep.per_query(1, 40), "its values of single queries on dev are gone"),
    (lambda sweep: sweep.per_query(2), "trial 2: has no checkpoint with scores on dev yet"),
    (lambda sweep: sweep.per_query(step=60), "step 60 of which trial?"),
    (lambda sweep: sweep.per_query(split="test"), "no trial has scores on 'test'; there are scores on dev"),
    (lambda sweep: sweep.load(2, 20), "trial 2: has no checkpoint at step 20; it has none yet"),
])  # fmt: skip
def test_what_is_not_there_is_said_with_what_is(ledger, tmp_path, asked, words):
    with pytest.raises(InputError, match=re.escape(words)):
        asked(stockpot.open(tmp_path))


def test_a_folder_without_a_sweep_is_refused(tmp_path):
    with pytest.raises(StockpotError, match="holds no sweep"):
        stockpot.open(tmp_path)
    with pytest.raises(InputError, match="stockpot.open: takes the folder of a sweep, found None"):
        stockpot.open(None)


def test_importing_and_opening_stay_light(tmp_path):
    made.begin(tmp_path)
    code = ("import sys, stockpot; light = set(sys.modules); stockpot.open(sys.argv[1]).status;"
            "heavy = {'torch', 'ray', 'mlflow', 'transformers', 'optuna', 'pandas', 'numpy'};"
            "print(sorted(heavy & light), sorted(heavy & set(sys.modules) - {'numpy'}))")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout == "[] []\n"


def test_the_page_on_the_api_runs_as_it_stands(finished):
    """docs/api.md's own code, on a real sweep: its checkpoints load and its queries are there."""
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert len(blocks) >= 5
    names: dict[str, object] = {}
    for block in blocks:
        exec(block.replace("runs/demo", finished["sweep"]), names)
    sweep = names["sweep"]
    assert sweep.status == "finished" and len(sweep.trials) == 3
    assert names["vectors"].shape[0] == 1 and np.isfinite(names["vectors"]).all()
    assert names["losses"].shape[1] == 3 and names["losses"].notna().any().all()
    assert set(names["every"].ordinal) <= set(sweep.trials.index) and len(names["by_family"])
    for ordinal, values in names["values"].items():  # a query once, and the figure that the table has
        assert values.index.is_unique
        assert values.mean() == pytest.approx(sweep.trials.loc[ordinal, "dev/context/Answer@10"], abs=1e-9)
