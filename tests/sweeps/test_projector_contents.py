"""What a reader of MLflow finds beside params and metrics: inputs, tags to filter by, system metrics, whole hostile text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sweeps import figures, mlflow_store
from sweeps.mlflow_limits import LONGEST_NAME, title
from sweeps.projector import sync
from tests.sweeps import made_ledgers, made_searches as made

REGISTERED = "ü 日本 🙂 <b>'\"@ -- %"
LONG = "ä@/'\"\n<b>&" * 1112  # 10,008 characters


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """(MLflow's client, the experiment, the parent, children by ordinal) of a search with replicates that ships."""
    folder = tmp_path_factory.mktemp("search")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "sweep_figures", lambda state, folder: ())
        ledger = made.begin(folder, teacher={"kind": "spans"}, student={"encoder": "minilm"})
        made.trials(ledger, 8)
        made.replicates(ledger, folder, {"a": 0.5}, count=2)
        made_ledgers.ship(ledger, folder)
        made_ledgers.close(ledger)
        for _ in range(2):  # the second time doubles nothing
            places = sync(folder)
    found = made_ledgers.assert_equal_to_ledger(ledger.state(), places["uri"], "search")
    children = {int(run.data.tags["stockpot.ordinal"]): run for run, _ in found["trials"].values()}
    return found["client"], found["parent"].info.experiment_id, found["parent"], children


@pytest.mark.parametrize(("wanted", "ordinals"), [
    ("tags.`stockpot.status` = 'failed'", [6]),
    ("tags.`stockpot.status` = 'stopped' and params.chunking_mix.sentence = '1.0'", None),
    ("tags.`stockpot.sampler` = 'tpe' and tags.`stockpot.kind` = 'trial'", list(range(10))),
    ("tags.`stockpot.scheduler` = 'asha' and tags.`stockpot.teacher` = 'spans' and tags.`stockpot.ordinal` = '3'", [3]),
    ("tags.`stockpot.encoder` = 'minilm' and tags.`stockpot.retries` = '1'", [3]),
    ("tags.`stockpot.sweep` = 'search' and params.note = 'a'", [8, 9]),
])  # fmt: skip
def test_runs_are_found_by_tags_and_params(shown, wanted, ordinals):
    client, experiment, _, children = shown
    found = sorted(int(run.data.tags["stockpot.ordinal"]) for run in client.search_runs([experiment], wanted))
    if ordinals is None:
        ordinals = [ordinal for ordinal, run in sorted(children.items()) if run.data.tags["stockpot.status"] == "stopped"
                    and run.data.params.get("chunking_mix.sentence") == "1.0"]  # fmt: skip
    assert found == ordinals and found


def test_replicates_share_the_tag_that_groups_them(shown):
    _, _, _, children = shown
    settings = [children[ordinal].data.tags["stockpot.setting"] for ordinal in sorted(children)]
    assert settings[8] == settings[9] and len(set(settings)) == 9


def test_inputs_name_every_split_with_its_purpose_and_hash(shown):
    _, _, parent, children = shown

    def inputs(run):
        return {(one.dataset.name, one.dataset.digest, one.tags[0].value) for one in run.inputs.dataset_inputs}

    assert inputs(parent) == {("train", "a" * 36, "training"), ("dev", "d" * 36, "evaluation"), ("confirm", "f" * 36, "certification")}
    assert inputs(children[0]) == {("train", "a" * 36, "training"), ("dev", "d" * 36, "evaluation")}
    assert len(parent.inputs.dataset_inputs) == 3


def test_system_metrics_stand_under_their_own_prefix_at_the_optimiser_step(shown):
    client, _, _, children = shown
    run = children[1]
    keys = {key for key in run.data.metrics if key.startswith("system/")}
    assert keys == {"system/train_seconds", "system/checkpoint_seconds", "system/evaluation_dev_seconds",
                    "system/cpu_utilization_percentage", "system/peak_memory_megabytes"}  # fmt: skip
    history = client.get_metric_history(run.info.run_id, "system/peak_memory_megabytes")
    assert [(one.step, one.value) for one in history] == [(20, 532.0), (40, 552.0)]
    assert run.data.metrics["system/evaluation_dev_seconds"] == 20.0


def test_metrics_fold_by_suite_and_models_carry_them_by_dataset(shown):
    client, experiment, _, children = shown
    groups = {key.rpartition("/")[0] for key in children[0].data.metrics}
    assert groups == {"", "inline", "dev/context", "dev/chunk-size", "system"}
    models = client.search_logged_models([experiment], "tags.`stockpot.kind` = 'checkpoint'", max_results=100)
    assert {metric.dataset_name for model in models for metric in model.metrics} == {"dev"}
    assert len(models) == 18


def test_the_sweeps_page_says_how_to_read_it(shown):
    note = shown[2].data.tags["mlflow.note.content"]
    assert "**search** is finished: 10 trials" in note and "Ships: soup, for certifiably better." in note
    for words in ("figures/README.md", "`stockpot.setting`", "`system/`"):
        assert words in note


def test_any_text_arrives_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "sweep_figures", lambda state, folder: ())
    name = ("“" + made.HOSTILE)[:200]
    ledger = made.begin(tmp_path, name=name, mlflow={"register": REGISTERED})
    varied = {made.HOSTILE: made.HOSTILE, "long": LONG, "empty": "", "../up": "@/", "a@b": [made.HOSTILE], "n" * 300: 1}
    ledger.append("proposed", {"ordinal": 0, "params": varied, "varied": varied}, 1.0)
    ledger.append("started", {"ordinal": 0}, 2.0)
    made.scored(ledger, 0, 20, {"dev/mine/<F>@½ [x]": 0.5, "dev/" + "m" * 300: 0.25}, 3.0)
    ledger.append("ended", {"ordinal": 0, "status": "failed", "reason": LONG}, 9.0)
    ledger.append("baseline", {"name": made.HOSTILE, "split": "dev", "figures": {"dev/context/Answer@10": 0.5}, "per_query": None}, 9.0)
    made_ledgers.ship(ledger, tmp_path)
    made_ledgers.close(ledger)
    for _ in range(2):
        places = sync(tmp_path)
    client = mlflow_store.open_client(places["uri"])
    experiment = client.get_experiment_by_name(name)
    parent = client.get_run(places["parent_run_id"])
    assert parent.data.tags["stockpot.sweep"] == name and parent.info.run_name == " ".join(name.split())
    (run,) = client.search_runs([experiment.experiment_id], "tags.`stockpot.kind` = 'trial'")
    files = tmp_path / "mlartifacts"
    assert made.HOSTILE in run.data.params.values() and run.data.params["empty"] == ""
    assert f"{len(LONG)} characters, whole in params.json" in run.data.params["long"]
    assert json.loads(next(files.rglob("params.json")).read_text()) == varied
    assert next(files.rglob("reason.txt")).read_text() == LONG
    (config,) = (file for file in files.rglob("config.json") if parent.info.run_id in str(file))
    assert json.loads(config.read_text())["name"] == name
    assert made.HOSTILE in next(files.rglob("results.csv")).read_bytes().decode().replace('""', '"')
    names = json.loads(next(files.rglob("metric_names.json")).read_text())
    assert {"dev/mine/<F>@½ [x]", "dev/" + "m" * 300} <= set(names.values())
    assert {key for key in names} <= set(run.data.metrics)
    assert len(run.info.run_name) == LONGEST_NAME and run.info.run_name.endswith("…")
    versions = client.search_model_versions("tags.`stockpot.sweep_id` = 'fedcba987654'")
    assert [version.name for version in versions] == [REGISTERED] and Path(versions[0].source.removeprefix("file://"), "model.safetensors").exists()


def test_a_description_shows_markup_as_text(tmp_path):
    from sweeps.summary import description

    ledger = made.begin(tmp_path, name="**a** <script> `b` [c](d)\n# e")
    assert r"Sweep **\*\*a\*\* \<script\> \`b\` \[c\](d) \# e** is running" in description(ledger.state())


def test_a_title_shows_that_it_was_cut():
    assert title("a\nb  c") == "a b c" and title("x" * 250) == "x" * 250
    assert title("x" * 251) == "x" * 249 + "…"
