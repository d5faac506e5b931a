"""One trial of the ledger as one MLflow run, its checkpoints as logged models with metrics linked to model and dataset.

Everything here may be said twice: a point of a metric carries the ledger's time and the optimiser step, which MLflow
keeps once; runs and logged models are found by tag before they are made.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sweeps.keys import metric_key, metric_keys, param_key
from sweeps.ledger_state import LedgerState, Trial
from sweeps.mlflow_inputs import dataset_of, log_splits, splits_of
from sweeps.mlflow_limits import LONGEST_PARAM, LONGEST_TAG, METRICS, PARAMS, batches, fitted, milliseconds, title
from sweeps.replicates import setting_id
from sweeps.status import trial_status
from sweeps.summary import flat, lineage, readable, trial_name
from sweeps.system_metrics import system_points

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import LoggedModel, Run

FORMAT = 3  # of the projection; a new one projects every trial again
STATUS = {
    "proposed": "SCHEDULED",
    "running": "RUNNING",
    "interrupted": "KILLED",
    "finished": "FINISHED",
    "stopped": "FINISHED",
    "failed": "FAILED",
}


@dataclass
class HeldModel:
    """A checkpoint's logged model: which metrics it has, as (key, step), and whether its run shows it."""

    model_id: str
    points: set[tuple[str, int]]
    linked: bool


@dataclass
class HeldRun:
    """What MLflow holds of a trial, as far as this process knows."""

    run_id: str
    status: str  # as MLflow says it
    shown: str  # as we say it
    fingerprint: str
    looked: bool = False
    reports: set[int] = field(default_factory=set)
    system: set[tuple[str, int]] = field(default_factory=set)  # (key, step) of what is sent beside them
    inputs: set[str] = field(default_factory=set)
    exploits: int = 0  # of the trial, told in its lineage
    models: dict[int, HeldModel] = field(default_factory=dict)  # by step

    def forget(self) -> None:
        """What was sent of a trial of which nothing more comes: ten thousand such would fill the driver's memory. Should
        something come all the same, it is looked up as another process would."""
        self.looked, self.reports, self.system, self.inputs, self.models = False, set(), set(), set(), {}

    @classmethod
    def of(cls, run: Run) -> HeldRun:
        tags = run.data.tags
        return cls(run.info.run_id, run.info.status, tags.get("stockpot.status", ""), tags.get("stockpot.projected", ""))


class TrialProjection:
    """Projects the trials of one sweep into an experiment, under the parent run."""

    def __init__(self, client: MlflowClient, experiment_id: str, parent_id: str):
        self.client, self.experiment_id, self.parent_id = client, experiment_id, parent_id

    def project(self, state: LedgerState, trial: Trial, run: HeldRun | None) -> HeldRun:
        """Brings `run` (made when None) up to the ledger; what it holds already is not sent again."""
        run = run or self._create(state, trial)
        fingerprint = _fingerprint(state, trial)
        if run.fingerprint != fingerprint:
            if not run.looked:
                self._look(state, trial, run)
            self._reports(trial, run)
            self._system(trial, run)
            for step in sorted(trial.checkpoints):
                self._checkpoint(state, trial, step, run)
            self._lineage(trial, run)
            self._status(state, trial, run)
            # Set last: whoever finds this tag may trust everything before it.
            if trial.has_ended:
                self.client.set_tag(run.run_id, "stockpot.projected", fingerprint)
                run.fingerprint = fingerprint
                if all("dev" in checkpoint.scores for checkpoint in trial.checkpoints.values()):
                    run.forget()
        return run

    def _create(self, state: LedgerState, trial: Trial) -> HeldRun:
        tags = {
            "stockpot.kind": "trial",
            "stockpot.sweep_id": state.sweep["sweep_id"],
            "stockpot.trial_id": trial.trial_id,
            "stockpot.ordinal": str(trial.ordinal),
            "mlflow.parentRunId": self.parent_id,
            "mlflow.source.name": "stockpot",
            "stockpot.setting": setting_id(trial.params),
            **filter_tags(state),
        }
        began = milliseconds(trial.proposed if trial.started is None else trial.started)
        return HeldRun.of(self.client.create_run(self.experiment_id, began, tags, title(trial_name(trial))))

    def _look(self, state: LedgerState, trial: Trial, run: HeldRun) -> None:
        """Sends what never changes, params and inputs, and learns which logged models an earlier process left."""
        from mlflow.entities import Param, RunTag

        whole = json.dumps(trial.params, ensure_ascii=False)
        exact = RunTag("stockpot.params", fitted(whole, LONGEST_TAG, "params.json"))  # with their types: for warm starts
        params = [(name, readable(value)) for name, value in flat(trial.params)]
        if len(whole) > LONGEST_TAG or any(len(value) > LONGEST_PARAM for _, value in params):
            self.client.log_text(run.run_id, json.dumps(trial.params, ensure_ascii=False, indent=1), "params.json")
        sent = [Param(param_key(name), fitted(value, LONGEST_PARAM, "params.json")) for name, value in params]
        for chunk in batches(sent, PARAMS):
            self.client.log_batch(run.run_id, params=chunk, tags=[exact])
        log_splits(self.client, run.run_id, state, {"train"} & set(splits_of(state)))
        linked = {output.model_id for output in self.client.get_run(run.run_id).outputs.model_outputs}
        for model in sorted(self._models_of(trial), key=lambda model: model.model_id):
            step = int(model.tags["stockpot.step"])
            if model.source_run_id == run.run_id and step not in run.models:
                points = {(metric.key, metric.step) for metric in model.metrics or ()}
                run.models[step] = HeldModel(model.model_id, points, model.model_id in linked)
                self.client.finalize_logged_model(model.model_id, "READY")
            else:  # made twice: the answer to the first request was lost
                self.client.delete_logged_model(model.model_id)
        run.looked = True

    def _models_of(self, trial: Trial) -> Iterator[LoggedModel]:
        wanted, token = f"tags.`stockpot.trial_id` = '{trial.trial_id}'", None
        while True:
            page = self.client.search_logged_models([self.experiment_id], wanted, max_results=50, page_token=token)
            yield from page
            if not (token := page.token):
                return

    def _reports(self, trial: Trial, run: HeldRun) -> None:
        from mlflow.entities import Metric

        new = sorted(set(trial.reports) - run.reports)
        points = [
            Metric(key, report.metrics[name], milliseconds(report.time), step)
            for step in new
            for report in [trial.reports[step]]
            for name, key in metric_keys(report.metrics).items()
        ]
        for chunk in batches(points, METRICS):
            self.client.log_batch(run.run_id, metrics=chunk)
        run.reports.update(new)

    def _system(self, trial: Trial, run: HeldRun) -> None:
        from mlflow.entities import Metric

        new = [point for point in system_points(trial) if (point.key, point.step) not in run.system]
        points = [Metric(metric_key(one.key), one.value, milliseconds(one.time), one.step) for one in new]
        for chunk in batches(points, METRICS):
            self.client.log_batch(run.run_id, metrics=chunk)
        run.system.update((point.key, point.step) for point in new)

    def _checkpoint(self, state: LedgerState, trial: Trial, step: int, run: HeldRun) -> None:
        from mlflow.entities import LoggedModelOutput, Metric

        if step not in run.models:
            run.models[step] = HeldModel(self._create_model(trial, step, run), set(), linked=False)
        model = run.models[step]
        points = []
        for split, scores in sorted(trial.checkpoints[step].scores.items()):
            dataset = dataset_of(state, split)
            if split not in run.inputs:
                log_splits(self.client, run.run_id, state, [split])
                run.inputs.add(split)
            for name, key in metric_keys(scores.figures).items():
                # MLflow keeps a logged model's metrics once only up to 100 names a batch: what it has is left out.
                if (key, step) not in model.points:
                    when, value = milliseconds(scores.time), scores.figures[name]
                    points.append(Metric(key, value, when, step, model.model_id, dataset.name, dataset.digest))
        for chunk in batches(points, METRICS):
            self.client.log_batch(run.run_id, metrics=chunk)
            model.points.update((point.key, step) for point in chunk)
        if not model.linked:
            self.client.log_outputs(run.run_id, [LoggedModelOutput(model.model_id, step)])
            model.linked = True

    def _create_model(self, trial: Trial, step: int, run: HeldRun) -> str:
        checkpoint = trial.checkpoints[step]
        tags = {
            "stockpot.kind": "checkpoint",
            "stockpot.trial_id": trial.trial_id,
            "stockpot.step": str(step),
            "stockpot.folder": checkpoint.folder,
            "stockpot.sha256": checkpoint.sha256,
        }
        varied = [(param_key(name), readable(value)) for name, value in flat(trial.varied_at(step))]
        params = {key: fitted(value, LONGEST_PARAM, "params.json") for key, value in varied}
        name = f"trial-{trial.ordinal:03d}-step-{step:06d}"
        model = self.client.create_logged_model(self.experiment_id, name, run.run_id, tags, params, "checkpoint")
        self.client.finalize_logged_model(model.model_id, "READY")
        return model.model_id

    def _lineage(self, trial: Trial, run: HeldRun) -> None:
        """What it took over from others: its params in MLflow stay those that it began with."""
        if len(trial.exploits) == run.exploits:
            return
        from mlflow.entities import RunTag

        told = lineage(trial)
        tags = {"stockpot.lineage": fitted(told, LONGEST_TAG, "lineage.txt"), "stockpot.own_until": str(trial.own_until)}
        self.client.log_batch(run.run_id, tags=[RunTag(*tag) for tag in tags.items()])
        if len(told) > LONGEST_TAG:
            self.client.log_text(run.run_id, told, "lineage.txt")
        run.exploits = len(trial.exploits)

    def _status(self, state: LedgerState, trial: Trial, run: HeldRun) -> None:
        from mlflow.entities import RunTag

        shown = trial_status(trial, state.status)
        if (run.shown, run.status) == (shown, STATUS[shown]):
            return
        tags = {"stockpot.status": shown}
        if trial.reason:
            tags["stockpot.reason"] = fitted(trial.reason, LONGEST_TAG, "reason.txt")
            if len(trial.reason) > LONGEST_TAG:
                self.client.log_text(run.run_id, trial.reason, "reason.txt")
        if trial.retries:
            tags["stockpot.retries"] = str(len(trial.retries))
        self.client.log_batch(run.run_id, tags=[RunTag(*tag) for tag in tags.items()])
        if trial.ended is None:
            self.client.update_run(run.run_id, STATUS[shown])
        else:
            self.client.set_terminated(run.run_id, STATUS[shown], milliseconds(trial.ended))
        run.shown, run.status = shown, STATUS[shown]


def mark_of(state: LedgerState, trial: Trial) -> tuple[str, int, int]:
    """Changes whenever the ledger learns something about the trial: it only ever adds."""
    scored = sum(1 + len(checkpoint.scores) for checkpoint in trial.checkpoints.values())
    return trial_status(trial, state.status), len(trial.reports), scored + len(trial.exploits)


def filter_tags(state: LedgerState) -> dict[str, str]:
    """What runs of several sweeps in one experiment are told apart by, beside their params and their status."""
    config = state.sweep["config"]
    search, scheduler, teacher, student = (config.get(part) or {} for part in ("search", "scheduler", "teacher", "student"))
    named = {"sampler": search.get("sampler"), "scheduler": scheduler.get("kind"), "teacher": teacher.get("kind"),
             "encoder": student.get("encoder"), "sweep": state.sweep["name"]}  # fmt: skip
    return {f"stockpot.{name}": fitted(value, LONGEST_TAG, "config.json") for name, value in named.items() if value}


def _fingerprint(state: LedgerState, trial: Trial) -> str:
    """Of everything that the trial's run shows."""
    reports = [(step, dict(report.metrics), report.time) for step, report in sorted(trial.reports.items())]
    checkpoints = [
        (step, checkpoint.sha256, [(split, dict(one.figures), one.time) for split, one in sorted(checkpoint.scores.items())])
        for step, checkpoint in sorted(trial.checkpoints.items())
    ]
    shown = [FORMAT, trial_status(trial, state.status), trial.reason, trial.ended, trial.params, reports, checkpoints]
    shown += [lineage(trial)] if trial.exploits else []
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()[:16]
