"""A sweep's YAML as one frozen value (DESIGN section 7), and everything wrong with it at once.

Names of metrics in a sweep. A *figure* of the full suites is `suite/metric`
(`context/Answer@10`); prefixed by its split it is a metric of the ledger
(`dev/context/Answer@10`). Search sees dev only, so objectives are figures without a split.
Each trial also reports `inline/Answer@10` and `inline/Document@1` at every checkpoint: the
same metrics over a fixed sample of dev queries, cheap enough to stop trials by.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from corpora.chunkings import Chunking
from corpora.errors import InputError, Problem
from corpora.wording import short
from corpora.storage import check_uri
from corpora.yaml_file import Lines, read_yaml
from corpora.yaml_model import validated
from evaluators.codes import PRECISIONS
from sweeps.config_reading import resolved
from sweeps.corpora_config import FORMS, Corpora, train_corpora
from sweeps.mlflow_store import uri_problem
from sweeps.notify_config import Notify
from sweeps.population_checks import problems as population_problems
from sweeps.search_config import SUITES, Budget, Objective, SchedulerConfig, Search
from sweeps.space import Real, Space, candidates, leaves
from sweeps.space_reading import read_space
from trainables.recipe import Frozen, LoopRecipe, Recipe, StudentConfig, TeacherConfig


class Evaluation(Frozen):
    """Axes of every full evaluation: never trials."""

    suites: tuple[Literal[SUITES], ...] = ("context", "q2c", "q2d", "chunk-size", "storage")
    dimensions: tuple[int, ...] = Field((), description="cut dimensions beside the full one")
    precisions: tuple[Literal[PRECISIONS], ...] = PRECISIONS
    chunk_sizes: tuple[int, ...] = (64, 128, 256, 512)
    needle_lengths: tuple[int, ...] = Field((), description="haystacks in tokens; 128 to 8192, as far as dev goes, by default")
    k: tuple[int, ...] = (1, 5, 10)
    chunking: str = Field("sentence", description="of q2c, q2d, context, storage, spans and the inline metrics")
    inline_queries: int = Field(64, ge=1, description="dev queries behind the inline metrics, the same for all trials")

    @field_validator("chunking")
    @classmethod
    def _spelling(cls, chunking: str) -> str:
        return str(Chunking.parse(chunking))

    @field_validator("dimensions", "chunk_sizes", "needle_lengths", "k")
    @classmethod
    def _positive(cls, numbers: tuple[int, ...]) -> tuple[int, ...]:
        if any(n < 1 for n in numbers) or len(set(numbers)) < len(numbers):
            raise ValueError(f"distinct positive numbers are needed, found {list(numbers)}")
        return numbers


class Resources(Frozen):
    slots: int = Field(2, ge=1, description="trials at a time")
    cpus: float = Field(1, gt=0, description="of one trial")
    gpus: float = Field(0, ge=0, description="of one trial; 0.5 shares a GPU, and its memory, between two; 2 share each batch between two")
    gpu_type: str | None = Field(None, min_length=1, description="only GPUs of this type: A100, H100, ... as Ray's label has it")
    memory: float | None = Field(None, gt=0, description="GB of one trial: no node holds more trials than fit")
    evaluation_cpus: float | None = Field(None, gt=0, description="of one evaluation; a trial's by default")
    evaluation_gpus: float | None = Field(None, ge=0, le=1, description="of one evaluation; a trial's, at most 1, by default; 0 for CPUs alone")
    max_failures: int = Field(3, ge=0, description="restarts of a trial whose worker died")

    @field_validator("gpus", "evaluation_gpus")
    @classmethod
    def _whole_or_less_than_one(cls, gpus: float | None) -> float | None:
        if gpus is not None and gpus > 1 and gpus % 1:
            raise ValueError(f"a part of one GPU or whole GPUs, found {gpus:g}")
        return gpus

    @model_validator(mode="after")
    def _typed(self) -> Resources:
        if self.gpu_type and not self.gpus:
            raise ValueError("gpu_type needs gpus over 0")
        return self

    @property
    def processes(self) -> int:
        """Of one trial: one a GPU."""
        return max(1, int(self.gpus))


class MLflow(Frozen):
    uri: str | None = Field(None, description="tracking server; SQLite in the sweep's folder by default")
    experiment: str | None = Field(None, min_length=1, max_length=500, description="the sweep's name by default")
    register_as: str | None = Field(None, max_length=250, alias="register", description="registered model that receives what ships")

    @field_validator("uri")
    @classmethod
    def _a_store(cls, uri: str | None) -> str | None:
        if problem := uri_problem(uri):
            raise ValueError(problem)
        return uri

    @field_validator("register_as")
    @classmethod
    def _a_model(cls, name: str | None) -> str | None:
        """What MLflow would refuse only when something ships."""
        if name is not None and (not name.strip(" .") or not name.isprintable() or set("/:") & set(name)):
            raise ValueError(f"a registered model's name is one line without / and :, and not empty; found {name!r}")
        return name


class SoupConfig(Frozen):
    candidates: int = Field(3, ge=1, description="soups of the proxy's ranking that are built and evaluated on dev")
    largest: int = Field(4, ge=2, description="most ingredients of a soup")
    per_trial: int = Field(1, ge=1, description="most ingredients from one trial")
    objectives: tuple[Objective, ...] | None = Field(None, description="`search.objectives` by default")


class SweepConfig(Frozen):
    name: str = Field(min_length=1, max_length=200)
    corpora: Corpora
    student: StudentConfig = StudentConfig()
    teacher: TeacherConfig = TeacherConfig()
    trainer: str | None = Field(None, description="a training loop of one's own, `file.py:Class` or `module.path:Class` (docs/own-trainer.md)")
    recipe: dict[str, Any] = Field({}, description="the trainer's settings: fixed, or entries of sweeps/space.py")
    search: Search
    scheduler: SchedulerConfig = SchedulerConfig()
    evaluation: Evaluation = Evaluation()
    budget: Budget = Budget()
    resources: Resources = Resources()
    order: Literal["deterministic", "asynchronous"] = "asynchronous"
    storage: str | None = Field(
        None, description="URI (s3://BUCKET/..., gs://..., file:///...) where the sweep's folder is kept as well: for "
        "machines that share no disk, and for a driver that may lose its own; keys come from the environment",
    )  # fmt: skip
    mlflow: MLflow = MLflow()
    soup: SoupConfig = SoupConfig()
    notify: Notify = Notify()

    @field_validator("trainer")
    @classmethod
    def _a_trainer(cls, trainer: str | None) -> str | None:
        try:
            recipe_model(trainer)
        except InputError as error:
            raise ValueError("; ".join(problem.message for problem in error.problems)) from error
        return trainer

    @field_validator("storage")
    @classmethod
    def _a_uri(cls, uri: str | None) -> str | None:
        return uri and check_uri(uri)

    @field_validator("recipe")
    @classmethod
    def _a_space(cls, recipe: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        if "trainer" not in info.data:  # refused itself: what the recipe may hold is not known
            return recipe
        try:
            read_space(recipe, recipe_model(info.data["trainer"]))
        except InputError as error:
            raise PydanticCustomError("space", "bad space", {"problems": error.problems}) from error
        return recipe

    @model_validator(mode="after")
    def _fits_together(self) -> SweepConfig:
        problems = [*_space_problems(self), *_search_problems(self), *_evaluation_problems(self),
                    *population_problems(self.scheduler, self.space, self.order)]  # fmt: skip
        if problems:
            raise PydanticCustomError("sweep", "parts disagree", {"problems": problems})
        return self

    @cached_property
    def space(self) -> Space:
        return read_space(self.recipe, recipe_model(self.trainer))

    @property
    def soup_objectives(self) -> tuple[Objective, ...]:
        return self.soup.objectives or self.search.objectives

    @property
    def sha256(self) -> str:
        text = json.dumps(self.model_dump(mode="json", by_alias=True), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


def recipe_model(trainer: str | None) -> type[LoopRecipe]:
    """What describes the settings of a trainer; nothing heavy is imported for the built-in one."""
    if trainer is None:
        return Recipe
    from trainables.trainers import trainer_of

    return trainer_of(trainer).Recipe


def load(path: Path) -> SweepConfig:
    """Reads a sweep's YAML; relative paths in it start at its folder. Raises InputError with all problems."""
    path = Path(path)
    data, lines = read_yaml(path)
    return config_of(resolved(data, path.absolute().parent), path, lines)


def config_of(data: dict[str, Any], path: Path, lines: Lines) -> SweepConfig:
    """The sweep in `data`, which the file at `path` holds."""
    return validated(SweepConfig, data, path, lines, FORMS)


def top_key(error: Mapping[str, Any]) -> str:
    """The section that pydantic's error about a `SweepConfig` speaks of; what several disagree on counts for the first."""
    inner = error.get("ctx", {}).get("problems") or ()
    return str([*error["loc"], *(inner[0].where.split(".") if inner else ())][0])


def _space_problems(config: SweepConfig) -> list[Problem]:
    entries, largest = config.space.entries, config.student.dimension
    problems = []
    for dimensions in candidates(entries.get("dimensions", ())):
        if max(dimensions, default=0) > largest:
            problems.append(Problem("recipe.dimensions", f"{short(dimensions)} is over student.dimension {largest}"))
    if config.search.sampler == "grid" and any(isinstance(e, Real) for v in entries.values() for e in leaves(v)):
        problems.append(
            Problem("search.sampler", "grid cannot list an interval of real numbers: give `grid: [...]` entries")
        )
    return problems


def _search_problems(config: SweepConfig) -> Iterator[Problem]:
    if config.search.replicates > 1 and "seed" in config.space.searched:
        yield Problem("search.replicates", "replicates differ in `seed`, which recipe.seed searches: fix one of them")
    if config.teacher.kind == "file" and len(train_corpora(config.corpora)) > 1:
        yield Problem("teacher.kind", "a file of scores goes with one training corpus: import them as one, or use a teacher that reads texts")
    if config.budget.gpu_hours and not config.resources.gpus:
        yield Problem("budget.gpu_hours", "resources.gpus is 0: no GPU-hour is ever spent; limit `budget.hours`")


def figures_asked(config: SweepConfig) -> dict[str, str]:
    """The figures of full evaluations that the sweep goes by, by their keys in the YAML."""
    named = {
        "search.objectives": config.search.objectives,
        "search.constraints": config.search.constraints,
        "soup.objectives": config.soup.objectives or (),
    }
    return {f"{where}.{number}.metric": figure.metric for where, figures in named.items() for number, figure in enumerate(figures)}


def _evaluation_problems(config: SweepConfig) -> list[Problem]:
    problems = []
    for key, metric in figures_asked(config).items():
        suite = metric.partition("/")[0]
        if suite not in config.evaluation.suites:
            problems.append(Problem(key, f"{metric} needs the suite {suite}, which evaluation.suites leaves out"))
    if max(config.evaluation.dimensions, default=0) > config.student.dimension:
        problems.append(Problem("evaluation.dimensions", f"over student.dimension {config.student.dimension}"))
    return problems
