"""Earlier sweeps: what is taken of them, that it is frozen, and that proposals learn from it."""

from __future__ import annotations

import json
import shutil

import pytest

from corpora.errors import InputError
from sweeps import figures
from sweeps.config import SweepConfig
from sweeps.ledger import Ledger
from sweeps.mlflow_store import open_client
from sweeps.projector import sync
from sweeps.search import Searcher
from sweeps.warm_start import NAME, check_sources, earlier_trials

DATA = {"train": "a", "dev": "b"}
SPACE = {"weight": {"uniform": [0, 1]}, "top_n": {"choice": [1, 3]}, "steps": 4}
METRIC = "context/Answer@10"


def a_config(sources=(), recipe=SPACE, sampler="tpe", startup=4, **changes) -> SweepConfig:
    return SweepConfig.model_validate({
        "name": "later", "corpora": {"generate": "quick"}, "recipe": recipe,
        "search": {"sampler": sampler, "trials": 40, "startup": startup, "objectives": [{"metric": METRIC}], "warm_start": [str(one) for one in sources]},
        **changes,
    })  # fmt: skip


def an_earlier_sweep(folder, count=12, recipe=SPACE, data=DATA, **changes):
    """Its trials are best near a weight of 0.9; of every six the fourth was stopped, the fifth failed."""
    config = a_config(recipe=recipe, sampler="random", **changes)
    content = {"sweep_id": "e", "name": "e", "config": config.model_dump(mode="json", by_alias=True), "attributes": {"data": data}}
    ledger, searcher = Ledger.create(folder, content, 0.0), Searcher(config)
    for ordinal in range(count):
        suggestion = searcher.ask(ordinal, list(ledger.state().trials.values()))
        end = {3: "stopped", 4: "failed"}.get(ordinal % 6, "finished")
        value = 1 - abs(suggestion.recipe.weight - 0.9)
        place = {"ordinal": ordinal, "step": 4}
        ledger.append_all([
            ("proposed", {"ordinal": ordinal, "params": suggestion.recipe.model_dump(mode="json"), "varied": suggestion.varied}),
            ("started", {"ordinal": ordinal}),
            ("report", {**place, "metrics": {"inline/Answer@10": value}}),
            ("checkpoint", {**place, "folder": "f", "sha256": "0"}),
            ("scores", {**place, "split": "dev", "figures": {f"dev/{METRIC}": value}, "per_query": "p"}),
            ("ended", {"ordinal": ordinal, "status": end}),
        ], 1.0)  # fmt: skip
    return folder


def test_its_trials_are_taken_once_and_stand(tmp_path):
    source, said = an_earlier_sweep(tmp_path / "early"), []
    config = a_config([source])
    check_sources(config, tmp_path)
    taken = earlier_trials(config, tmp_path, DATA, said.append)
    assert said == [f"warm start: 10 trials of {source}; left out 2 not finished"]
    assert [trial.status for trial in taken].count("stopped") == 2
    shutil.rmtree(source)
    check_sources(config, tmp_path)
    assert earlier_trials(config, tmp_path, DATA, said.append) == taken and len(said) == 1
    with pytest.raises(InputError, match="holds no sweep"):
        check_sources(config, tmp_path / "elsewhere")


def test_what_lies_outside_the_space_is_left_out_and_counted(tmp_path):
    source, said = an_earlier_sweep(tmp_path / "early", recipe=SPACE | {"top_n": {"choice": [3, 5]}}), []
    taken = earlier_trials(a_config([source]), tmp_path, DATA, said.append)
    outside = sum(trial.params["top_n"] == 5 and trial.status != "failed" for trial in Ledger.open(source).state().trials.values())
    assert 0 < outside < 10 and len(taken) == 10 - outside
    assert f"{outside} outside the space" in said[0]
    assert all(set(trial.varied) == {"weight", "top_n"} for trial in taken)


@pytest.mark.parametrize(
    ("early", "reason"),
    [({"data": {"train": "a", "dev": "other"}}, "its dev corpora differ"), ({"student": {"layers": 2}}, "its student differ")],
)
def test_scores_that_mean_something_else_are_not_taken(tmp_path, early, reason):
    source, said = an_earlier_sweep(tmp_path / "early", **early), []
    assert earlier_trials(a_config([source]), tmp_path, DATA, said.append) == []
    assert reason in said[0]


def _further_trials(folder):
    """One that went on from another's checkpoint, one whose params no tag can hold, one that is not evaluated yet."""
    ledger = Ledger.open(folder, write=True)
    params = ledger.state().trials[0].params
    for ordinal, more in ((12, {}), (13, {"note": "x" * 9000}), (14, {})):
        place = {"ordinal": ordinal, "step": 4}
        ledger.append_all([
            ("proposed", {"ordinal": ordinal, "params": {**params, "weight": 0.1, **more}, "varied": {"weight": 0.1, "top_n": params["top_n"]}}),
            ("started", {"ordinal": ordinal}),
            ("report", {**place, "metrics": {"inline/Answer@10": 0.3}}),
            ("checkpoint", {**place, "folder": "f", "sha256": "1"}),
        ], 2.0)  # fmt: skip
        if ordinal == 12:
            donor = {"ordinal": 0, "step": 4, "sha256": "0"}
            ledger.append("exploited", {**place, "donor": donor, "params": {**params, "weight": 0.5}, "varied": {"weight": 0.5}}, 3.0)
            ledger.append("report", {"ordinal": 12, "step": 8, "metrics": {"inline/Answer@10": 0.8}}, 3.0)
        if ordinal != 14:
            ledger.append("scores", {**place, "split": "dev", "figures": {f"dev/{METRIC}": 1 / 3}, "per_query": "p"}, 4.0)
        ledger.append("ended", {"ordinal": ordinal, "status": "finished"}, 5.0)


def test_its_runs_in_mlflow_tell_the_same_as_its_ledger(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "sweep_figures", lambda state, folder: ())
    source, uri, said = an_earlier_sweep(tmp_path / "early"), f"sqlite:///{tmp_path / 'mlflow.db'}", []
    _further_trials(source)
    run = f"mlflow:{sync(source, uri)['parent_run_id']}"
    taken = []
    for one in (source, run):
        (tmp_path / str(len(taken))).mkdir()
        taken.append(earlier_trials(a_config([one], mlflow={"uri": uri}), tmp_path / str(len(taken)), DATA, said.append))
    assert taken[0] == taken[1]
    assert [trial.status for trial in taken[1]].count("stopped") == 3 and set(taken[1][-2].reports) == {4}
    assert said == [f"warm start: 12 trials of {one}; left out 2 not finished, 1 without the objectives" for one in (source, run)]


def test_runs_of_an_older_version_are_counted_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "sweep_figures", lambda state, folder: ())
    uri, said = f"sqlite:///{tmp_path / 'mlflow.db'}", []
    run_id = sync(an_earlier_sweep(tmp_path / "early"), uri)["parent_run_id"]
    client = open_client(uri)
    for run in client.search_runs([client.get_run(run_id).info.experiment_id], "tags.`stockpot.kind` = 'trial'"):
        client.delete_tag(run.info.run_id, "stockpot.params")
    assert earlier_trials(a_config([f"mlflow:{run_id}"], mlflow={"uri": uri}), tmp_path, DATA, said.append) == []
    assert "left out 2 not finished, 10 whose params MLflow holds as text only (`stockpot sync`" in said[0]


@pytest.mark.parametrize("sampler", ["tpe", "nsga2"])
def test_the_first_proposals_learn_from_it_and_are_the_same_again(tmp_path, sampler):
    space = SPACE | {"learning_rate": {"loguniform": [1e-5, 1e-3]}}
    source = an_earlier_sweep(tmp_path / "early", count=60, recipe=space)
    config = a_config([source], space, sampler, startup=8)
    taken = earlier_trials(config, tmp_path, DATA, str)

    def weights(earlier) -> list[float]:
        return [Searcher(config, earlier).ask(ordinal, []).varied["weight"] for ordinal in range(12)]

    warm, cold = weights(taken), weights([])
    assert weights(taken) == warm
    assert sum(abs(weight - 0.9) for weight in warm) < 0.7 * sum(abs(weight - 0.9) for weight in cold)


def test_only_searches_that_learn_take_it(tmp_path):
    with pytest.raises(ValueError, match="sampler grid learns from no trial"):
        a_config(["x"], {"weight": {"grid": [0, 1]}}, "grid")
    assert json.loads(a_config(["x"]).model_dump_json())["search"]["warm_start"] == ["x"]


@pytest.mark.parametrize("content", [b"", b"[1]", b"{}", b"\xff", b'[{"params": {}}]'])
def test_what_was_learnt_and_is_damaged_ends_the_sweep_in_words(tmp_path, content):
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(InputError, match="warm-start.json: is damaged"):
        earlier_trials(a_config(), tmp_path, {}, pytest.fail)
