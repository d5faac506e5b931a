"""A sweep in MLflow's own pages, looked at in headless Chromium on a real server."""

from __future__ import annotations

import pytest

from sweeps import mlflow_store
from sweeps.projector import sync
from sweeps.ui import Server, free_port
from tests.stockpot import pages
from tests.sweeps import made_ledgers as made

HTML = "not finite <b id='injected'>x</b>"


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """(Pages, what MLflow holds) of a sweep of three trials whose best single ships."""
    if not pages.CHROMIUM.exists():
        pytest.skip(f"{pages.CHROMIUM} is absent: MLflow's pages need a browser (Debian's package chromium)")
    pytest.importorskip("playwright", reason="playwright drives the browser")
    folder = tmp_path_factory.mktemp("sweep")
    ledger = made.begin(folder)
    for ordinal, end in enumerate(("finished", "stopped")):
        made.trial(ledger, ordinal + 1, end)
        made.write_results(folder / f"ledger/scores/{ordinal + 1}-60.parquet", ordinal + 1, 60)
    made.trial(ledger, 3, "failed", steps=(20,), reason=HTML)
    made.ship(ledger, folder)
    made.close(ledger)
    uri = mlflow_store.default_uri(folder)
    sync(folder)
    with Server(uri, folder / "mlartifacts", "127.0.0.1", free_port("127.0.0.1")) as server:
        server.wait_until_up()
        found = made.read_mlflow(uri)
        with pages.browser(server.url, found["parent"].info.experiment_id) as driven:
            yield driven, found


def run_of(found, ordinal):
    return next(run for run, _ in found["trials"].values() if run.data.tags["stockpot.ordinal"] == str(ordinal))


def test_the_runs_table_shows_one_parent_its_trials_and_what_varies(shown):
    driven, _ = shown
    text = driven.runs("0123456789ab", "001 w=0.25")
    for words in ("001 w=0.25", "002 w=0.5", "003 w=0.75", "4 matching runs", "weight", "stopped", "failed"):
        assert words in text
    assert text.count("56 years ago") == 4  # the ledger's clock, not MLflow's: these trials ran in January 1970


def test_a_trials_page_shows_metrics_params_and_the_escaped_reason(shown):
    driven, found = shown
    text = driven.run(run_of(found, 3).info.run_id, "trial-003-step-000020")
    assert HTML in text and driven.page.locator("#injected").count() == 0
    for words in ("dev/context/answer_at_10", "0.42", "learning_rate", "0.3333333333333333"):
        assert words in text
    charts = driven.charts(run_of(found, 2).info.run_id, "dev/chunk-size")
    assert all(group in charts for group in ("dev/chunk-size", "dev/context", "dev/storage", "inline"))


def test_the_sweeps_page_shows_its_description_and_figures(shown):
    driven, found = shown
    parent = found["parent"].info.run_id
    text = driven.run(parent, "Best single on dev")
    assert "3 trials (1 failed, 1 finished, 1 stopped)" in text
    for name in ("loss-curves", "chunk-size", "storage", "document-against-answer"):
        width, height = driven.figure(parent, f"figures/{name}.png")
        assert width > 700 and height > 400


def test_the_registered_model_leads_to_real_files(shown):
    driven, found = shown
    text = driven.registered_model("made", "Version 1")
    assert "soup: certifiably better" in text
    model = found["shipped"][0].model_id
    assert "Not registered" not in driven.logged_model(model, "dev/context/answer_at_10")
    assert "1_Pooling" in driven.logged_model(model, "model.safetensors", "/artifacts")


def test_the_pages_ask_no_other_host(shown):
    driven, _ = shown
    driven.page.goto(driven.url)
    driven.page.wait_for_timeout(2000)
    outside = {host for host in driven.hosts if not host.startswith("127.0.0.1")}
    assert outside <= {""}, outside
