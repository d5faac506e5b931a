"""MLflow equals the ledger, on real SQLite and PostgreSQL stores: once, however often and in whatever pieces it is projected."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from corpora.errors import StockpotError
from sweeps import figures, mlflow_store
from sweeps.ledger_state import trial_id
from sweeps.projector import BackgroundProjector, Projector, sync
from tests.sweeps import made_ledgers as made


FIGURES = ("parallel-coordinates", "timeline", "document-against-answer", "loss-curves", "chunk-size", "storage")


@pytest.fixture(params=["sqlite", "postgresql"])
def store(tmp_path, request) -> Iterator[Path]:
    """A sweep's folder with an empty store, its own file or a database elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "postgresql":
            postgres = request.getfixturevalue("postgres")
            uri = postgres.database(request.getfixturevalue("empty_postgres"))
            for name, value in postgres.environment.items():
                patch.setenv(name, value)
            patch.setattr(mlflow_store, "default_uri", lambda folder: uri)
        yield tmp_path


@pytest.fixture
def folder(store, monkeypatch) -> Path:
    """The same, without the seconds that drawing takes."""
    monkeypatch.setattr(figures, "sweep_figures", lambda state, folder: ())
    return store


def test_a_sweep_is_projected_whole_and_twice_changes_nothing(folder):
    ledger = made.begin(folder)
    made.trial(ledger, 0)
    made.trial(ledger, 1, "stopped", steps=(20, 40), reason="stopped by the scheduler at step 40")
    made.trial(ledger, 2, "failed", steps=(20,), reason="the loss is not finite <script>alert('x')</script>\nline two")
    made.trial(ledger, 3, end="", steps=(20,))
    made.baselines(ledger)
    projector = Projector(folder)
    projector.update()
    projector.update()
    uri = mlflow_store.default_uri(folder)
    found = made.assert_equal_to_ledger(ledger.state(), uri)
    runs = {ordinal: found["trials"][trial.trial_id][0] for ordinal, trial in ledger.state().trials.items()}
    assert [runs[n].info.status for n in range(4)] == ["FINISHED", "FINISHED", "FAILED", "RUNNING"]
    assert [runs[n].data.tags["stockpot.status"] for n in range(4)] == ["finished", "stopped", "failed", "running"]
    assert runs[2].data.tags["stockpot.reason"].endswith("alert('x')</script>\nline two")
    assert runs[1].info.run_name == "001 w=0.25 mix=sentence"
    assert (runs[0].info.start_time, runs[0].info.end_time) == (1_000_101_500, 1_000_190_000)
    assert [(i.dataset.name, i.dataset.digest) for i in runs[0].inputs.dataset_inputs] == [("dev", "d" * 36)]

    sync(folder)  # a new process that knows nothing
    again = made.assert_equal_to_ledger(ledger.state(), uri)
    assert again["parent"].info.run_id == found["parent"].info.run_id
    assert {t: run.info.run_id for t, (run, _) in again["trials"].items()} == {
        t: run.info.run_id for t, (run, _) in found["trials"].items()
    }


def test_of_a_trial_that_is_whole_nothing_is_held_and_what_comes_late_is_sent_once(folder):
    ledger = made.begin(folder)
    made.trial(ledger, 0)
    made.trial(ledger, 1, end="", steps=(20,))
    projector = Projector(folder)
    projector.update()
    whole, running = projector._runs[0], projector._runs[1]
    assert not (whole.models or whole.reports or whole.system) and running.models and running.reports
    late = {"ordinal": 0, "step": 60, "split": "confirm", "figures": made.figures(0, 60, "confirm"), "per_query": "late.parquet"}
    ledger.append("scores", late, 1_000_900.0)
    projector.update()
    projector.update()
    made.assert_equal_to_ledger(ledger.state(), mlflow_store.default_uri(folder))


def test_a_trial_that_goes_on_keeps_its_run_whoever_projects(folder):
    ledger = made.begin(folder)
    made.trial(ledger, 0, end="", steps=(20,))
    first = Projector(folder)
    first.update(pages=False)
    run_id = first.places()["runs"][trial_id("0123456789ab", 0)]
    made.close(ledger, "interrupted")
    first.update(pages=False)
    uri = mlflow_store.default_uri(folder)
    run, _ = made.assert_equal_to_ledger(ledger.state(), uri)["trials"][trial_id("0123456789ab", 0)]
    assert (run.info.status, run.data.tags["stockpot.status"]) == ("KILLED", "interrupted")

    ledger.append("resumed", {"attributes": {}}, 1_000_500.0)
    made.advance(ledger, 0, 40, scored=False)
    second = Projector(folder)  # the driver that resumes
    second.update(pages=False)
    made.advance(ledger, 0, 60)
    made.trial(ledger, 1)
    second.update(pages=False)
    ledger.append("scores", {"ordinal": 0, "step": 40, "split": "dev", "figures": made.figures(0, 40), "per_query": "x"}, 1_000_800.0)
    ledger.append("ended", {"ordinal": 0, "status": "finished"}, 1_000_900.0)
    second.update()
    found = made.assert_equal_to_ledger(ledger.state(), uri)
    run, points = found["trials"][trial_id("0123456789ab", 0)]
    assert (run.info.run_id, run.info.status) == (run_id, "FINISHED")
    assert [step for step, _, _ in points["inline/answer_at_10"]] == [20, 40, 60]


def test_the_sweeps_page_holds_description_config_figures_and_table(store):
    ledger = made.begin(store)
    for ordinal in range(3):
        made.trial(ledger, ordinal)
        made.write_results(store / f"ledger/scores/{ordinal}-60.parquet", ordinal, 60)
    made.baselines(ledger)
    made.close(ledger)
    places = sync(store)
    found = made.read_mlflow(places["uri"])
    client, parent = found["client"], found["parent"]
    assert parent.info.run_id == places["parent_run_id"]
    assert (parent.info.status, parent.info.end_time) == ("FINISHED", 1_003_000_000)
    assert "**made** is finished: 3 trials (3 finished)" in parent.data.tags["mlflow.note.content"]
    assert "**002 w=0.5 mix=sentence** at step 60" in parent.data.tags["mlflow.note.content"]
    assert {file.path for file in client.list_artifacts(parent.info.run_id)} == {
        "config.json", "results.json", "results.csv", "metric_names.json", "figures"}  # fmt: skip
    pngs = client.list_artifacts(parent.info.run_id, "figures")
    assert {file.path for file in pngs} == {
        "figures/README.md", *(f"figures/{name}.png" for name in FIGURES)}  # fmt: skip
    assert all(file.file_size > 10_000 for file in pngs if file.path.endswith(".png"))
    readme = next((store / "mlartifacts").rglob("README.md")).read_text()
    assert [line.partition("`: ")[0] for line in readme.split("\n\n")] == [f"`{name}.png" for name in FIGURES]
    rows = (store / "mlartifacts").rglob("results.csv")
    lines = next(rows).read_text().splitlines()
    assert lines[0].startswith("name,status,step,chunking_mix.sentence,weight,")
    assert [line.split(",")[0][:3] for line in lines[1:]] == ["002", "001", "000", "BM2", "unt"]


def test_what_ships_is_a_registered_version_with_real_files(folder):
    ledger = made.begin(folder, "Demo: a/b")
    made.trial(ledger, 0)
    made.ship(ledger, folder)
    made.close(ledger)
    for _ in range(2):
        places = sync(folder)
    found = made.read_mlflow(places["uri"], "Demo: a/b")
    client = found["client"]
    versions = client.search_model_versions("name = 'Demo- a-b'")
    assert len(versions) == 1 and len(found["shipped"]) == 1
    assert versions[0].run_id == places["parent_run_id"]
    files = Path(versions[0].source.removeprefix("file://"))
    assert (files / "model.safetensors").read_bytes() == b"weights" * 1000
    assert (files / "1_Pooling" / "config.json").read_text() == "{}"
    metrics = {metric.key: (metric.value, metric.dataset_name) for metric in found["shipped"][0].metrics}
    assert metrics["confirm/context/answer_at_10"] == (made.figures(3, 60)["dev/context/Answer@10"], "confirm")
    assert found["parent"].data.metrics["confirm/context/answer_at_10"] == metrics["confirm/context/answer_at_10"][0]
    assert len(metrics) == 2 * len(made.figures(3, 60))


def test_an_answer_that_was_lost_doubles_nothing(folder, monkeypatch):
    """The store takes a request and the client never learns of it, at each request in turn."""
    from mlflow import MlflowClient

    ledger = made.begin(folder)
    made.trial(ledger, 0, steps=(20, 40))
    made.ship(ledger, folder)
    made.close(ledger)
    names = ["create_experiment", "create_run", "log_batch", "log_inputs", "create_logged_model", "finalize_logged_model",
             "log_outputs", "set_terminated", "set_tag", "log_artifacts", "log_model_artifacts", "create_registered_model",
             "create_model_version"]  # fmt: skip
    lost = {name: 0 for name in names}
    projector = Projector(folder)
    for name in names:
        whole = getattr(MlflowClient, name)

        def losing(*args, _whole=whole, _name=name, **kwargs):
            answer = _whole(*args, **kwargs)
            if lost[_name] < 2:
                lost[_name] += 1
                raise ConnectionError("the answer got lost")
            return answer

        monkeypatch.setattr(MlflowClient, name, losing)
    for _ in range(60):
        try:
            projector.update()
            break
        except StockpotError as error:
            assert "the answer got lost" in str(error)
    monkeypatch.undo()
    assert min(lost.values()) >= 1, lost
    assert projector.pending() == []
    found = made.assert_equal_to_ledger(ledger.state(), mlflow_store.default_uri(folder))
    assert len(found["shipped"]) == 1
    assert len(found["client"].search_model_versions("name = 'made'")) == 1


def test_long_values_arrive_whole_or_by_their_hash_never_cut(folder):
    ledger = made.begin(folder)
    params = {"short": "é" * 6000, "long": "x" * 6001, "list": [1, 2.5, "a"]}
    ledger.append("proposed", {"ordinal": 0, "params": params, "varied": {"long": params["long"]}}, 5.0)
    ledger.append("started", {"ordinal": 0}, 6.0)
    ledger.append("ended", {"ordinal": 0, "status": "failed", "reason": "y" * 9000}, 7.0)
    uri = sync(folder)["uri"]
    found = made.read_mlflow(uri)
    run, _ = found["trials"][trial_id("0123456789ab", 0)]
    assert run.data.params["short"] == "é" * 6000
    assert run.data.params["list"] == '[1, 2.5, "a"]'
    assert run.data.params["long"].startswith("sha256:") and "6001 characters, whole in params.json" in run.data.params["long"]
    assert "9000 characters, whole in reason.txt" in run.data.tags["stockpot.reason"]
    assert {file.path for file in found["client"].list_artifacts(run.info.run_id)} == {"params.json", "reason.txt"}


@pytest.mark.parametrize("shared", [True, False])
def test_the_background_thread_projects_while_the_sweep_runs(folder, shared):
    ledger = made.begin(folder)
    background = BackgroundProjector(folder, interval=0.01, ledger=ledger if shared else None)
    for ordinal in range(3):
        made.trial(ledger, ordinal)
    made.close(ledger)
    assert background.close().pending == []
    made.assert_equal_to_ledger(ledger.state(), mlflow_store.default_uri(folder))


def test_a_dead_server_delays_and_never_raises_or_waits(folder):
    ledger = made.begin(folder)
    made.trial(ledger, 0)
    heard: list[str] = []
    background = BackgroundProjector(folder, "http://me:geheimnis@127.0.0.1:9", warn=heard.append, interval=0.05)
    made.close(ledger)
    left = background.close(patience=30)
    assert left.pending == ["trial 000", "the sweep's page"]
    assert left.error.startswith("MLflow (http://***@127.0.0.1:9)") and left.places["parent_run_id"] is None
    assert "geheimnis" not in repr(left) + "".join(heard) and len(heard) == 1
    sync(folder)  # elsewhere, from the ledger alone
    made.assert_equal_to_ledger(ledger.state(), mlflow_store.default_uri(folder))


def test_secrets_are_masked_wherever_they_stand(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "tok-12345")
    uri = "postgresql://me:p%40ss/word@db:5432/x?password=hidden&sslmode=require"
    shown = mlflow_store.masked(f"cannot reach {uri} with p@ss or tok-12345", "http://me:p%40ss@db")
    assert shown == "cannot reach postgresql://***@db:5432/x?password=***&sslmode=require with *** or ***" or "p%40ss" not in shown
    assert "hidden" not in shown and "tok-12345" not in shown and "p@ss" not in shown


def test_nothing_is_printed_and_nobody_is_told(tmp_path):
    """A fresh process, with a fresh store, as the driver opens it."""
    made.trial(made.begin(tmp_path), 1, steps=(20,))
    code = ("import sys; from sweeps.projector import sync; sync(sys.argv[1]);"
            "from mlflow.telemetry.client import get_telemetry_client as c; assert c() is None")  # fmt: skip
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MLFLOW", "PYTEST", "CI", "DO_NOT"))}
    done = subprocess.run([sys.executable, "-c", code, tmp_path], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert {file.name for file in tmp_path.iterdir()} == {"ledger", "mlflow.db", "mlartifacts"}
