"""What a sweep would do, and everything that is wrong with it at once; writes nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.errors import InputError, Problem
from corpora.files import sha256_of
from sweeps import machines as machinery
from sweeps.code_hash import code_hash
from sweeps.config import SweepConfig
from sweeps.data_hash import data_hashes
from sweeps.estimates import CorpusSize, Estimate, MLflowLoad, ModelSize, estimate, mlflow_load
from sweeps.machines import Machine
from sweeps.plan_checks import chunking_problems, process_problems, split_problems, teacher_problems, warnings
from sweeps.plan_hash import plan_hash
from sweeps.plan_inputs import Splits, read_model, read_splits, size_of
from sweeps.search import Searcher

if TYPE_CHECKING:
    from sweeps.probe import Probe

SAMPLED = 64  # recipes of the space behind the estimate


@dataclass(frozen=True)
class Plan:
    """
    data: the hash of each split's corpora, and of the teacher's file.
    machines: what trials would run on; none where they run on a cluster that was not asked.
    probe: what a short trial took; then `estimate` follows it, and `rough` is what it was before.
    """

    config: SweepConfig
    splits: dict[str, CorpusSize]
    data: dict[str, str]
    space: tuple[str, ...]
    points: int | None
    model: ModelSize
    estimate: Estimate
    mlflow: MLflowLoad
    machines: tuple[Machine, ...]
    warnings: tuple[Problem, ...]
    rough: Estimate | None = None
    probe: Probe | None = None

    @property
    def hashes(self) -> dict[str, str]:
        return {"config": self.config.sha256, "data": repr(sorted(self.data.items())), "code": code_hash(self.config.trainer)}

    @property
    def name(self) -> str:
        """12 hexadecimal digits: the same config, data and code, the same plan."""
        return plan_hash(self.hashes)

    def json(self) -> dict[str, Any]:
        """One object for scripts."""
        return {
            "plan": self.name,
            "name": self.config.name,
            "splits": {split: asdict(size) for split, size in self.splits.items()},
            "data": self.data,
            "space": list(self.space),
            "points": self.points,
            "estimate": asdict(self.estimate),
            "rough_estimate": self.rough and asdict(self.rough),
            "probe": self.probe and asdict(self.probe),
            "machines": [{**asdict(one), "slots": one.slots(self.config.resources)} for one in self.machines],
            "mlflow": asdict(self.mlflow),
            "warnings": [str(warning) for warning in self.warnings],
        }

    def lines(self) -> list[str]:
        """The same for people."""
        found, config, asked = self.estimate, self.config, self.mlflow
        told = [f"plan: {self.name}", f"sweep {config.name}"]
        told += [
            f"  {split}: {size.documents} documents, {size.queries} queries, about {size.tokens_each:,.0f} tokens a document"
            for split, size in self.splits.items()
        ]
        told.append(
            f"space: {'unbounded' if self.points is None else f'{self.points} points'}, by {config.search.sampler}"
        )
        told += [f"  {line}" for line in self.space]
        stopped = "" if config.scheduler.kind in ("none", "pbt") else f", fewer as {config.scheduler.kind} stops the weak"
        told += [
            f"trials: {found.trials}, {config.resources.slots} at a time, order {config.order}",
            f"at most {found.steps:,} steps and {found.checkpoints} checkpoints{stopped}",
            f"about {found.training_tokens / 1e6:,.1f} million training tokens",
            *(self.probe.lines() if self.probe else ()),
            *([f"time estimated: {self.rough.told()}"] if self.rough else ()),
            f"time: {found.told()}: {'as the probe ran' if self.probe else 'estimates, within a factor of two or so'}",
            f"disk {found.disk_gb:.2f} GB, memory {found.memory_gb:.2f} GB a trial",
        ]
        told += [
            f"{one.name}: {one.cpus:g} CPUs, {one.gpus:g} GPUs, {one.memory_gb:.0f} GB hold "
            f"{one.slots(config.resources, found.memory_gb)} trials at a time"
            for one in self.machines
        ]
        told.append(f"MLflow: {asked.runs} runs, {asked.logged_models} logged models, about {asked.metrics:,} metric values "
                    f"in {asked.requests:,} requests")  # fmt: skip
        return told + [f"warning: {warning}" for warning in self.warnings]


def plan(config: SweepConfig, machines: Sequence[Machine] | None = None) -> Plan:
    """Raises InputError with every problem, `where` = the key of the YAML.

    `machines`: what trials would run on; by default this machine, unless RAY_ADDRESS names a cluster.
    """
    seen = look(config, machines)
    splits, model, machines = seen.splits, seen.model, seen.machines
    if seen.problems or model is None:
        raise InputError(seen.problems)
    sizes = {split: size_of(parts) for split, parts in splits.items()}
    data = data_hashes(splits) | _teacher_hash(config)
    rng = np.random.default_rng(0)
    recipes = [config.space.sample(rng).recipe for _ in range(SAMPLED)]
    resources = config.resources
    found = estimate(
        model, sizes["train"], sizes["dev"], recipes, Searcher(config).trials, encodes_of(config), resources.slots, resources.gpus
    )
    told = (*warnings(config, splits), *_resource_warnings(config, machines, found))
    return Plan(
        config, sizes, data, tuple(config.space.describe()), config.space.size, model, found,
        mlflow_load(found, config.evaluation), tuple(machines), told,
    )  # fmt: skip


@dataclass(frozen=True)
class Look:
    """What a sweep names, as far as it is there, and what is wrong with it."""

    splits: Splits
    model: ModelSize | None
    machines: tuple[Machine, ...]
    problems: list[Problem]


def look(config: SweepConfig, machines: Sequence[Machine] | None = None, skip: Collection[str] = ()) -> Look:
    """`skip`: sections of the config that are not looked at."""
    if machines is None:
        machines = () if os.environ.get("RAY_ADDRESS") else (machinery.this_machine(),)
    problems: list[Problem] = []
    splits = {} if "corpora" in skip else read_splits(config, problems)
    model = None if "student" in skip else read_model(config, problems)
    unfit = [*split_problems(splits), *chunking_problems(config, splits)]
    problems += [*teacher_problems(config), *process_problems(config), *unfit]
    if not unfit:  # else dev cannot be evaluated at all
        from sweeps.figure_names import figure_problems

        problems += figure_problems(config, splits.get("dev", ()))
    problems += machinery.problems(config.resources, machines) if machines else ()
    return Look(splits, model, tuple(machines), problems)


def encodes_of(config: SweepConfig) -> int:
    """Passes over a corpus that one full evaluation takes."""
    return 1 + (len(config.evaluation.chunk_sizes) if "chunk-size" in config.evaluation.suites else 0)


def _teacher_hash(config: SweepConfig) -> dict[str, str]:
    teacher = config.teacher
    return {"teacher": sha256_of(Path(teacher.path))} if teacher.kind == "file" and teacher.path else {}


def _resource_warnings(config: SweepConfig, machines: Sequence[Machine], found: Estimate) -> Iterator[Problem]:
    if machines:
        yield from machinery.warnings(config.resources, machines, found.memory_gb)
    free = shutil.disk_usage(Path.cwd()).free / 1e9
    if found.disk_gb > free:
        yield Problem("disk", f"{found.disk_gb:.1f} GB estimated, {free:.1f} GB free here")
