"""An earlier sweep as far as a search can learn from it: from its ledger, or from its runs in MLflow.

What MLflow cannot say exactly by itself the projection writes as tags: a trial's params as JSON, and the step until
which they hold (sweeps/projected_trial.py). Its `config.json` is the ledger's `sweep` event.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from corpora.errors import InputError, Problem, StockpotError
from sweeps.config import SweepConfig
from sweeps.keys import metric_key
from sweeps.ledger import Ledger
from sweeps.mlflow_store import masked, open_client, sqlite_file, words
from sweeps.search_config import MLFLOW
from sweeps.settings import newest_figures, own_steps

if TYPE_CHECKING:
    from mlflow.entities import Run

KEY = "search.warm_start"
LEARNT_FROM = ("finished", "stopped")
NAMED = 5  # sweeps of the server that an error names


class EarlierTrial(NamedTuple):
    """
    params: None where MLflow holds them only as older versions wrote them.
    figures: on dev at its newest checkpoint.
    reports: the scheduler's metric, by the steps that `params` alone led to.
    """

    status: str
    params: dict[str, Any] | None
    figures: dict[str, float]
    reports: dict[int, dict[str, float]]


class Asked(NamedTuple):
    """What the new search wants to know of each trial."""

    figures: tuple[str, ...]
    metric: str

    @classmethod
    def by(cls, config: SweepConfig) -> Asked:
        asked = (*config.search.objectives, *config.search.constraints)
        return cls(tuple(f"dev/{one.metric}" for one in asked), config.scheduler.metric)


def earlier_sweep(source: str, config: SweepConfig) -> InLedger | InMLflow:
    """The sweep in the folder `source`, or whose run `mlflow:RUN_ID` names; raises InputError where there is none."""
    return InMLflow(source, config.mlflow.uri) if source.startswith(MLFLOW) else InLedger(source)


class InLedger:
    def __init__(self, source: str):
        try:
            self._state = Ledger.open(Path(source)).state()
        except StockpotError as error:
            raise InputError(Problem(KEY, str(error))) from None

    def content(self) -> Mapping[str, Any]:
        """The ledger's `sweep` event."""
        return self._state.sweep

    def trials(self, asked: Asked) -> Iterator[EarlierTrial]:
        """In the order in which they were proposed."""
        for _, trial in sorted(self._state.trials.items()):
            held = newest_figures(trial)
            figures = {name: held[name] for name in asked.figures if name in held}
            reported = {step: trial.reports[step].metrics for step in sorted(own_steps(trial))}
            reports = {step: {asked.metric: one[asked.metric]} for step, one in reported.items() if asked.metric in one}
            yield EarlierTrial(_status(trial.status, bool(trial.exploits)), trial.params, figures, reports)


class InMLflow:
    def __init__(self, source: str, uri: str | None):
        if uri is None:
            raise InputError(Problem(KEY, f"{source} is a run on the server that `mlflow.uri` names, and it names none: set it, "
                                     "or name the earlier sweep's folder"))  # fmt: skip
        if (file := sqlite_file(uri)) and not file.exists():
            raise InputError(Problem(KEY, f"{source} is a run in {file}, which `mlflow.uri` names, and there is no such file"))
        self._source, self._uri, self._run_id = source, uri, source.removeprefix(MLFLOW)
        with self._reading():
            self._client = open_client(uri)
            self._run = self._found()
            self._check()

    def content(self) -> Mapping[str, Any]:
        with self._reading():
            return self._artifact(self._run_id, "config.json")

    def trials(self, asked: Asked) -> Iterator[EarlierTrial]:
        with self._reading():
            for run in self._children():
                tags = run.data.tags
                until = float(tags.get("stockpot.own_until", math.inf))
                status = _status(tags.get("stockpot.status", ""), until < math.inf)
                if status not in LEARNT_FROM:  # nothing of it is asked for
                    yield EarlierTrial(status, {}, {}, {})
                    continue
                held, history = self._newest(run), self._client.get_metric_history(run.info.run_id, metric_key(asked.metric))
                points = sorted((point.step, point.value) for point in history if point.step <= until)
                reports = {step: {asked.metric: value} for step, value in points}
                found = {name: held[metric_key(name)] for name in asked.figures if metric_key(name) in held}
                yield EarlierTrial(status, self._params(run), found, reports)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except StockpotError:
            raise
        except Exception as error:  # whatever a store, a proxy or a disk may raise
            raise InputError(Problem(KEY, f"{self._source}: MLflow ({masked(self._uri)}) {words(error, self._uri)}")) from None

    def _found(self) -> Run:
        from mlflow.exceptions import MlflowException

        try:
            return self._client.get_run(self._run_id)
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            raise self._wrong("has no such run") from None

    def _check(self) -> None:
        tags = self._run.data.tags
        if self._run.info.lifecycle_stage == "deleted":
            raise self._wrong("holds that run as deleted")
        if tags.get("stockpot.kind") == "trial":
            raise self._wrong(f"has that run for a trial: its sweep is {MLFLOW}{tags.get('mlflow.parentRunId')}")
        if tags.get("stockpot.kind") != "sweep":
            raise self._wrong(f"has that run ({self._run.info.run_name}), and it is none of stockpot's")

    def _wrong(self, found: str) -> InputError:
        experiments = [one.experiment_id for one in self._client.search_experiments()]
        newest = self._client.search_runs(experiments, "tags.`stockpot.kind` = 'sweep'", max_results=NAMED)
        named = ", ".join(f"{MLFLOW}{run.info.run_id} ({run.info.run_name})" for run in newest)
        allowed = f"the newest sweeps there are {named}" if named else "it holds no sweep"
        return InputError(Problem(KEY, f"{self._source}: MLflow ({masked(self._uri)}) {found}; {allowed}"))

    def _children(self) -> list[Run]:
        """By ordinal; of two that are one trial, sent twice when an answer was lost, the one that stays."""
        found: dict[int, Run] = {}
        experiment, sweep_id = self._run.info.experiment_id, self._run.data.tags["stockpot.sweep_id"]
        wanted, token = f"tags.`stockpot.sweep_id` = '{sweep_id}' and tags.`stockpot.kind` = 'trial'", None
        while True:
            page = self._client.search_runs([experiment], wanted, max_results=1000, page_token=token)
            for run in page:
                ordinal = int(run.data.tags["stockpot.ordinal"])
                found[ordinal] = min(found.get(ordinal, run), run, key=lambda one: one.info.run_id)
            if not (token := page.token):
                return [found[ordinal] for ordinal in sorted(found)]

    def _newest(self, run: Run) -> dict[str, float]:
        """What the newest checkpoint scored, by MLflow's keys: the metrics that are linked to its logged model."""
        newest = max(run.outputs.model_outputs if run.outputs else (), key=lambda one: one.step, default=None)
        metrics = self._client.get_logged_model(newest.model_id).metrics if newest else None
        return {metric.key: metric.value for metric in metrics or ()}

    def _params(self, run: Run) -> dict[str, Any] | None:
        told = run.data.tags.get("stockpot.params")
        if told is None:
            return None
        return json.loads(told) if told.startswith("{") else self._artifact(run.info.run_id, "params.json")

    def _artifact(self, run_id: str, name: str) -> Any:
        with tempfile.TemporaryDirectory() as made:
            return json.loads(Path(self._client.download_artifacts(run_id, name, made)).read_text(encoding="utf-8"))


def _status(status: str, left_its_params: bool) -> str:
    """A setting that was left for another's checkpoint was stopped there."""
    return "stopped" if left_its_params and status in LEARNT_FROM else status
