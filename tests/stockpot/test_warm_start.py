"""A sweep that learns from an earlier one: from its ledger, and from its runs on an MLflow server, as a user names them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from sweeps import config
from sweeps.projector import sync
from sweeps.search import Searcher
from sweeps.warm_start import earlier_trials
from tests.stockpot.command import stockpot
from tests.sweeps.mlflow_servers import TeamServer


@pytest.fixture(scope="module")
def team(finished, tmp_path_factory):
    """A server that the finished sweep was sent to, and the run that it is there."""
    folder = tmp_path_factory.mktemp("team")
    with TeamServer(folder, f"sqlite:///{folder / 'mlflow.db'}") as server:
        yield server, sync(Path(finished["sweep"]), server.url)["parent_run_id"]


@pytest.fixture
def later(tiny_yaml, tmp_path):
    """The YAML of a sweep over the same space that learns from `source`."""
    content = yaml.safe_load(tiny_yaml.read_text())

    def made(source: object, uri: str | None = None, sampler: str = "tpe", **changes: object) -> Path:
        search = {"sampler": sampler, "trials": 4, "startup": 2, "warm_start": [str(source)]}
        path = tmp_path / "later.yaml"
        path.write_text(yaml.safe_dump({**content, "search": search, "mlflow": {"uri": uri} if uri else {}, **changes}))
        return path

    made.recipe = content["recipe"]
    return made


@pytest.mark.parametrize("sampler", ["tpe", "nsga2"])
def test_both_sources_give_the_same_first_proposals(finished, team, later, sampler, tmp_path):
    server, run_id = team
    told, proposed, taken = [], [], []
    for source, uri in ((finished["sweep"], None), (f"mlflow:{run_id}", server.url)):
        file = later(source, uri, sampler)
        plan = json.loads(stockpot("plan", file, "--json").stdout)
        told.append([line.replace(str(source), "SOURCE") for line in plan["warm_start"]])
        loaded, out = config.load(file), tmp_path / f"out-{len(taken)}"
        out.mkdir()
        taken.append(earlier_trials(loaded, out, plan["data"], str))
        proposed.append([Searcher(loaded, taken[-1]).ask(ordinal, []) for ordinal in range(6)])
    assert told[0] == told[1] == ["warm start: 3 trials of SOURCE"]
    assert taken[0] == taken[1] and any(trial.checkpoints for trial in taken[0])
    assert proposed[0] == proposed[1]
    # How many of the three ASHA lets finish, the processor's sums decide; NSGA-II needs two of them as parents.
    learns = sampler == "tpe" or sum(trial.status == "finished" for trial in taken[0]) >= 2
    assert (proposed[0] != [Searcher(loaded, []).ask(ordinal, []) for ordinal in range(6)]) is learns


def test_a_sweep_learns_from_runs_and_keeps_what_it_took(finished, team, later, tmp_path):
    server, run_id = team
    file = later(f"mlflow:{run_id}", server.url)
    done = stockpot("sweep", file, "--out", tmp_path / "out", "--json", timeout=900)
    assert f"warm start: 3 trials of mlflow:{run_id}" in done.stderr
    kept = json.loads((tmp_path / "out" / "warm-start.json").read_text())
    assert [one["params"]["weight"] for one in kept] == [one["params"]["weight"] for one in finished["trials"]]
    assert json.loads(done.stdout)["status"] == "finished"


def test_what_differs_and_what_lies_outside_is_said(team, later):
    server, run_id = team
    other = stockpot("plan", later(f"mlflow:{run_id}", server.url, corpora={"generate": "quick", "seed": 1})).stdout
    assert f"warm start: nothing from mlflow:{run_id}, its train corpora and dev corpora differ from this sweep's" in other
    longer = stockpot("plan", later(f"mlflow:{run_id}", server.url, recipe=later.recipe | {"steps": 6})).stdout
    assert f"warm start: 0 trials of mlflow:{run_id}; left out 3 outside the space" in longer


def test_what_is_no_sweep_is_refused_with_what_there_is(team, later):
    server, run_id = team
    trial = next(iter(_children(server.url, run_id)))
    for source, uri, told in (
        (f"mlflow:{'0' * 32}", server.url, rf"has no such run; the newest sweeps there are .*mlflow:{run_id} \(tiny\)"),
        (f"mlflow:{trial}", server.url, f"has that run for a trial: its sweep is mlflow:{run_id}"),
        (f"mlflow:{run_id}", "http://127.0.0.1:1", r"MLflow \(http://127.0.0.1:1\) does not answer: Connection refused"),
        (f"mlflow:{run_id}", None, "`mlflow.uri` names, and it names none"),
        (f"mlflow:{run_id}", f"sqlite:///{server.folder}/none.db", "none.db, which `mlflow.uri` names, and there is no such file"),
        ("mlflow:tiny", server.url, "'mlflow:tiny' names no run: mlflow:RUN_ID has the 32 hexadecimal digits"),
    ):
        done = stockpot("plan", later(source, uri), check=False)
        said = " ".join(done.stderr.split())
        assert done.returncode == 2 and "Traceback" not in said and "search.warm_start" in said and re.search(told, said), said


def _children(uri: str, parent: str) -> list[str]:
    from mlflow import MlflowClient

    client = MlflowClient(uri)
    runs = client.search_runs([client.get_run(parent).info.experiment_id], f"tags.`mlflow.parentRunId` = '{parent}'")
    return [run.info.run_id for run in runs]
