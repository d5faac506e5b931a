"""What a sweep looks for and how long: `search`, `scheduler` and `budget` of its YAML."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator, model_validator

import evaluators.suites
from corpora.yaml_model import LARGEST_SEED
from trainables.recipe import Frozen

SUITES = tuple(evaluators.suites.SUITES)
MLFLOW = "mlflow:"
"""In front of an earlier sweep's run, where a folder could stand."""


def a_figure(metric: str) -> str:
    suite, _, figure = metric.partition("/")
    if suite not in SUITES or not figure:
        raise ValueError(f"a figure is `suite/metric`, suite one of {', '.join(SUITES)}; found {metric!r}")
    return metric


class Objective(Frozen):
    metric: str
    direction: Literal["maximize", "minimize"] = "maximize"

    _a_figure = field_validator("metric")(a_figure)


class Constraint(Frozen):
    """A guardrail on dev: what breaks it is never best and never an ingredient. One bound of the three."""

    metric: str
    at_least: float | None = Field(None, description="the figure may not be under this")
    at_most: float | None = Field(None, description="the figure may not be over this")
    not_below: Literal["untrained"] | None = Field(None, description="the figure may not fall under the untrained student's")
    by: float = Field(0.0, ge=0, description="`not_below`: a fall of so much is borne")

    _a_figure = field_validator("metric")(a_figure)

    @model_validator(mode="after")
    def _one_bound(self) -> Constraint:
        given = [name for name in ("at_least", "at_most", "not_below") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"one of at_least, at_most, not_below is needed; found {', '.join(given) or 'none'}")
        if self.by and self.not_below is None:
            raise ValueError("`by` belongs to not_below: move the bound itself instead")
        return self

    def __str__(self) -> str:
        if self.not_below:
            return f"{self.metric} >= {self.not_below}" + (f" - {self.by:g}" if self.by else "")
        return f"{self.metric} >= {self.at_least:g}" if self.at_least is not None else f"{self.metric} <= {self.at_most:g}"


class Search(Frozen):
    sampler: Literal["random", "grid", "tpe", "nsga2"] = Field(
        "tpe", description="tpe and nsga2 follow one objective or weigh several"
    )
    trials: int | None = Field(
        None, ge=1, le=1_000_000, description="settings proposed, each run `replicates` times; only `grid` may leave it out (every point)"
    )
    seed: int = Field(0, ge=0, le=LARGEST_SEED)
    objectives: tuple[Objective, ...] = Field(
        (Objective(metric="context/Answer@10"), Objective(metric="context/Document@1")), min_length=1, description="what the search weighs"
    )
    constraints: tuple[Constraint, ...] = Field((), description="guardrails on dev that the best may not break")
    replicates: int = Field(1, ge=1, description="runs of each setting, `seed` counted up from the recipe's; the search sees their mean")
    warm_start: tuple[str, ...] = Field((), description="earlier sweeps over the same dev corpora, whose trials are learnt from: "
                                       "folders, or mlflow:RUN_ID, a sweep's run on the server of `mlflow.uri`")  # fmt: skip
    startup: int = Field(10, ge=1, description="random trials before tpe learns; the population of nsga2")

    @field_validator("objectives")
    @classmethod
    def _different(cls, objectives: tuple[Objective, ...]) -> tuple[Objective, ...]:
        for place, one in enumerate(objectives):
            if any(one.metric == other.metric for other in objectives[:place]):
                raise ValueError(f"{one.metric} stands twice: objectives are different figures")
        return objectives

    @field_validator("warm_start")
    @classmethod
    def _sweeps(cls, sources: tuple[str, ...]) -> tuple[str, ...]:
        for one in sources:
            if one.startswith(MLFLOW) and not re.fullmatch("[0-9a-f]{32}", one.removeprefix(MLFLOW)):
                raise ValueError(f"{one!r} names no run: {MLFLOW}RUN_ID has the 32 hexadecimal digits of a sweep's run in MLflow")
        return sources

    @model_validator(mode="after")
    def _ends(self) -> Search:
        if self.trials is None and self.sampler != "grid":
            raise ValueError(f"sampler {self.sampler} needs `trials`")
        if self.sampler == "nsga2" and self.startup < 2:
            raise ValueError(f"nsga2 crosses two parents: `startup`, its population, is at least 2; found {self.startup}")
        if self.warm_start and self.sampler not in ("tpe", "nsga2"):
            raise ValueError(f"sampler {self.sampler} learns from no trial: `warm_start` belongs to tpe and nsga2")
        return self


class SchedulerConfig(Frozen):
    """Which trials stop early, or go on from a better one's checkpoint, by a metric that the trial reports itself."""

    kind: Literal["none", "asha", "median", "pbt"] = "none"
    metric: Literal["inline/Answer@10", "inline/Document@1"] = "inline/Answer@10"
    grace: int = Field(20, ge=1, description="asha, median: optimiser steps before the first decision")
    reduction: int = Field(3, ge=2, description="asha: one in so many is kept at a rung")
    perturb_every: int | None = Field(None, ge=1, description="pbt: optimiser steps between decisions, a multiple of checkpoint_every")
    quantile: float = Field(0.25, gt=0, le=0.5, description="pbt: this share of the worst goes on from this share of the best")
    resample_probability: float = Field(0.25, ge=0, le=1, description="pbt: how often a value is drawn anew from the space")
    factor: float = Field(1.2, gt=1, description="pbt: what the donor's value is multiplied with, or divided by, else")
    mutate: tuple[str, ...] = Field((), description="pbt: searched fields of the recipe that change; all that can by default")

    @model_validator(mode="after")
    def _whole(self) -> SchedulerConfig:
        if self.kind == "pbt" and self.perturb_every is None:
            raise ValueError("pbt needs `perturb_every`")
        given = [name for name in ("perturb_every", "mutate") if getattr(self, name)]
        if self.kind != "pbt" and given:
            raise ValueError(f"{' and '.join(given)}: for kind pbt alone, found kind {self.kind}")
        if len(set(self.mutate)) < len(self.mutate):
            raise ValueError(f"mutate names a field twice: {', '.join(self.mutate)}")
        return self


class Budget(Frozen):
    """When no further trial is started; `search.trials` is the other limit."""

    hours: float | None = Field(None, gt=0, description="wall time of the sweep")
    gpu_hours: float | None = Field(None, gt=0, description="GPUs of a trial times the hours that trials and evaluations computed")
