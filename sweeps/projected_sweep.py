"""The sweep's own MLflow run: description, config, figures and table of results; what ships is in projected_model."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from sweeps import summary
from sweeps.keys import metric_keys
from sweeps.ledger_state import LedgerState
from sweeps.mlflow_inputs import log_splits, splits_of
from sweeps.mlflow_limits import LONGEST_TAG, fitted, milliseconds, title
from sweeps.mlflow_view import view_tag
from sweeps.projected_model import project_shipped
from sweeps.projected_trial import FORMAT, filter_tags, mark_of

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

STATUS = {"running": "RUNNING", "finished": "FINISHED", "interrupted": "KILLED", "failed": "FAILED"}


class SweepProjection:
    """The parent run, found or made on construction."""

    def __init__(self, client: MlflowClient, experiment_id: str, folder: Path, run: Run | None, state: LedgerState):
        self.client, self.experiment_id, self.folder = client, experiment_id, folder
        run = run or self._create(state)
        self.run_id, self._status = run.info.run_id, run.info.status
        self._shown = run.data.tags.get("stockpot.projected", "")

    def _create(self, state: LedgerState) -> Run:
        sweep = state.sweep
        tags = {"stockpot.kind": "sweep", "stockpot.sweep_id": sweep["sweep_id"], "mlflow.source.name": "stockpot",
                **filter_tags(state)}  # fmt: skip
        for name, value in summary.flat(sweep["attributes"]):
            tags[f"stockpot.{name}"[:250]] = fitted(summary.readable(value), LONGEST_TAG, "config.json")
        return self.client.create_run(self.experiment_id, milliseconds(sweep["time"]), tags, title(sweep["name"]))

    def project(self, state: LedgerState) -> str:
        """Brings the page up to the ledger; returns the `page_mark` that it shows now."""
        from mlflow.entities import RunTag

        mark = page_mark(state)
        if mark == self._shown:
            return mark
        with tempfile.TemporaryDirectory() as made:
            write_artifacts(state, self.folder, Path(made))
            self.client.log_artifacts(self.run_id, made)
        log_splits(self.client, self.run_id, state, splits_of(state))
        project_shipped(self.client, self.experiment_id, self.run_id, self.folder, state)
        if state.status == "running":
            self.client.update_run(self.run_id, STATUS[state.status])
        else:
            self.client.set_terminated(self.run_id, STATUS[state.status], milliseconds(state.updated))
        tags = {
            "mlflow.note.content": fitted(summary.description(state), LONGEST_TAG, "config.json"),
            "mlflow.loggedArtifacts": json.dumps([{"path": "results.json", "type": "table"}]),
            "stockpot.status": state.status,
        }
        self.client.log_batch(self.run_id, tags=[RunTag(*tag) for tag in tags.items()])
        self.client.set_experiment_tag(self.experiment_id, *view_tag(state))
        # Set last: whoever finds this tag may trust everything before it.
        self.client.set_tag(self.run_id, "stockpot.projected", mark)
        self._shown = mark
        return mark


def page_mark(state: LedgerState) -> str:
    """Changes whenever the ledger learns something that the page shows."""
    trials = [(ordinal, *mark_of(state, trial)) for ordinal, trial in sorted(state.trials.items())]
    shown = [FORMAT, state.status, state.reason, trials, sorted(state.baselines), sorted(state.soup)]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:16]


def write_artifacts(state: LedgerState, sweep: Path, made: Path) -> None:
    """Writes config.json, results.{csv,json}, metric_names.json, soup.json and figures/ into `made`."""
    from sweeps.figures import READING, sweep_figures

    def write(name: str, value: object) -> None:
        (made / name).write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")

    write("config.json", state.sweep)
    columns, rows = summary.results(state)
    write("results.json", {"columns": columns, "data": rows})
    text = io.StringIO()
    csv.writer(text).writerows([columns, *rows])
    (made / "results.csv").write_text(text.getvalue(), encoding="utf-8")
    keys = metric_keys(sorted(summary.metric_names(state)))
    write("metric_names.json", {key: name for name, key in keys.items()})
    if state.soup:
        write("soup.json", list(state.soup.values()))
    (made / "figures").mkdir()
    drawn = []
    for name, figure in sweep_figures(state, sweep):
        figure.savefig(made / "figures" / f"{name}.png", dpi=120)
        drawn.append(name)
    readme = [f"`{name}.png`: {READING[name]}" for name in drawn]
    (made / "figures" / "README.md").write_text("\n\n".join(readme) + "\n", encoding="utf-8")
