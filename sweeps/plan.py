"""What a sweep would do, and everything that is wrong with it at once; reads, writes nothing."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corpora.documents import Corpus
from corpora.errors import InputError, Problem
from sweeps.config import SweepConfig
from sweeps.corpora_config import CutCorpora, GeneratedCorpora, SplitCorpora
from sweeps.estimates import CorpusSize, Estimate, ModelSize, estimate
from sweeps.search import Searcher
from sweeps.space import candidates, default_of

SAMPLED = 64  # recipes of the space behind the estimate
Splits = dict[str, list[Corpus]]


@dataclass(frozen=True)
class Plan:
    config: SweepConfig
    splits: dict[str, CorpusSize]
    space: tuple[str, ...]
    points: int | None
    estimate: Estimate
    warnings: tuple[Problem, ...]

    @property
    def sha256(self) -> str:
        """Names this plan: the config and what its corpora hold."""
        content = [self.config.sha256, {split: asdict(size) for split, size in self.splits.items()}]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def json(self) -> dict[str, Any]:
        """One object for scripts."""
        return {
            "plan": self.sha256,
            "name": self.config.name,
            "splits": {split: asdict(size) for split, size in self.splits.items()},
            "space": list(self.space),
            "points": self.points,
            "estimate": asdict(self.estimate),
            "mlflow": self._mlflow(),
            "warnings": [str(warning) for warning in self.warnings],
        }

    def lines(self) -> list[str]:
        """The same for people."""
        found, config, asked = self.estimate, self.config, self._mlflow()
        told = [f"sweep {config.name}, plan {self.sha256[:12]}"]
        told += [
            f"  {split}: {size.documents} documents, {size.queries} queries, about {size.tokens_each:,.0f} tokens a document"
            for split, size in self.splits.items()
        ]
        told.append(
            f"space: {'unbounded' if self.points is None else f'{self.points} points'}, by {config.search.sampler}"
        )
        told += [f"  {line}" for line in self.space]
        stopped = "" if config.scheduler.kind == "none" else f", fewer as {config.scheduler.kind} stops the weak"
        told += [
            f"trials: {found.trials}, {config.resources.slots} at a time, order {config.order}",
            f"at most {found.steps:,} steps and {found.checkpoints} checkpoints{stopped}",
            f"about {found.training_tokens / 1e6:,.1f} million training tokens",
            f"about {_hours(found.training_hours)} of training and {_hours(found.evaluation_hours)} of evaluation, "
            + f"{_hours(found.wall_hours)} of wall time: estimates, within a factor of two or so",
            f"disk {found.disk_gb:.2f} GB, memory {found.memory_gb:.2f} GB a trial",
            f"MLflow: {asked['runs']} runs, {asked['logged_models']} logged models",
        ]
        return told + [f"warning: {warning}" for warning in self.warnings]

    def _mlflow(self) -> dict[str, int]:
        return {"runs": 1 + self.estimate.trials, "logged_models": self.estimate.checkpoints + 1}


def plan(config: SweepConfig) -> Plan:
    """Raises InputError with every problem, `where` = the key of the YAML."""
    problems: list[Problem] = []
    splits = _splits(config, problems)
    model = _model(config, problems)
    problems += [*_teacher_problems(config), *_machine_problems(config), *_chunking_problems(config, splits)]
    if problems or model is None:
        raise InputError(problems)
    sizes = {split: _size(parts) for split, parts in splits.items()}
    rng = np.random.default_rng(0)
    recipes = [config.space.sample(rng).recipe for _ in range(SAMPLED)]
    encodes = 1 + (len(config.evaluation.chunk_sizes) if "chunk-size" in config.evaluation.suites else 0)
    resources = config.resources
    found = estimate(
        model, sizes["train"], sizes["dev"], recipes, Searcher(config).trials, encodes, resources.slots, resources.gpus
    )
    warnings = (*_warnings(config, splits), *_machine_warnings(config, found))
    return Plan(config, sizes, tuple(config.space.describe()), config.space.size, found, warnings)


def _splits(config: SweepConfig, problems: list[Problem]) -> Splits:
    """The corpora by split, as far as they can be read."""
    corpora = config.corpora
    if isinstance(corpora, GeneratedCorpora):
        from corpora.generator import demo_splits

        return {split: [part] for split, part in demo_splits(corpora.seed, corpora.generate).items()}
    if isinstance(corpora, SplitCorpora):
        named = {split: getattr(corpora, split) for split in ("train", "dev", "confirm", "test")}
        read = {split: [_read(split, folder, problems) for folder in folders] for split, folders in named.items()}
        return {split: [part for part in parts if part] for split, parts in read.items() if any(parts)}
    return _cut(corpora, problems)


def _cut(corpora: CutCorpora, problems: list[Problem]) -> Splits:
    from corpora.splits import cut

    apart = _read("train", corpora.train, problems) if corpora.train else None
    whole = _read("folder", corpora.folder, problems)
    if whole is None:
        return {}
    try:
        parts = cut(whole, corpora.shares, corpora.seed, corpora.threshold)
    except InputError as error:
        problems += error.problems
        return {}
    return ({"train": [apart]} if apart else {}) | {split: [part] for split, part in parts.items()}


def _read(key: str, folder: str, problems: list[Problem]) -> Corpus | None:
    from corpora import native

    if not Path(folder).is_dir():
        problems.append(Problem(f"corpora.{key}", f"{folder} is no folder"))
        return None
    try:
        return native.read(Path(folder))
    except InputError as error:
        problems += error.problems
        return None


def _size(parts: list[Corpus]) -> CorpusSize:
    documents = [document for part in parts for document in part.documents]
    return CorpusSize(len(documents), sum(len(part.queries) for part in parts), sum(len(d.text) for d in documents))


def _model(config: SweepConfig, problems: list[Problem]) -> ModelSize | None:
    from trainables.base import encoder_folder

    try:
        about = json.loads((encoder_folder(config.student.encoder) / "config.json").read_text())
    except InputError as error:
        problems += error.problems
        return None
    except (OSError, ValueError) as error:
        problems.append(Problem("student.encoder", f"{config.student.encoder}: config.json cannot be read ({error})"))
        return None
    layers, window = about.get("num_hidden_layers", 12), about.get("max_position_embeddings", 512)
    if config.student.layers and config.student.layers > layers:
        problems.append(
            Problem("student.layers", f"{config.student.layers} asked, {config.student.encoder} has {layers}")
        )
    if config.student.window and config.student.window > window:
        problems.append(
            Problem("student.window", f"{config.student.window} asked, {config.student.encoder} reads {window} tokens")
        )
    width = about.get("hidden_size", 768)
    return ModelSize(
        config.student.layers or layers, width, about.get("intermediate_size", 4 * width), about.get("vocab_size", 30522),
        config.student.window or window, config.student.dimension,
    )  # fmt: skip


def _teacher_problems(config: SweepConfig) -> Iterator[Problem]:
    teacher = config.teacher
    if teacher.kind == "spans" or teacher.path == "minilm":
        return
    if teacher.path is None:
        yield Problem("teacher.path", f"is missing: a teacher of kind {teacher.kind} lies somewhere")
    elif teacher.kind == "file" and not Path(teacher.path).is_file():
        yield Problem("teacher.path", f"{teacher.path} is no file")
    elif teacher.kind != "file" and not Path(teacher.path).is_dir():
        yield Problem("teacher.path", f"{teacher.path} is no folder")


def _machine_problems(config: SweepConfig) -> Iterator[Problem]:
    if os.environ.get("RAY_ADDRESS"):
        return  # trials run elsewhere
    asked = config.resources.gpus
    if asked:
        import torch

        if torch.cuda.device_count() < asked:
            yield Problem(
                "resources.gpus",
                f"{asked:g} asked for each trial, this machine has {torch.cuda.device_count()}: give 0",
            )


def _chunking_problems(config: SweepConfig, splits: Splits) -> Iterator[Problem]:
    """`given` chunkings need corpora that hold chunks."""
    mixes = list(candidates(config.space.entries.get("chunking_mix", {})))
    asked = {"train": any("given" in mix for mix in mixes)}
    asked["dev"] = config.evaluation.chunking == "given" or "conteb" in config.evaluation.suites
    keys = {"train": "recipe.chunking_mix", "dev": "evaluation"}
    for split, wanted in asked.items():
        for corpus in splits.get(split, []) if wanted else []:
            lacking = sum(document.chunks is None for document in corpus.documents)
            if lacking:
                yield Problem(
                    keys[split],
                    f"asks for `given` chunks; {lacking} documents of {split} corpus {corpus.name} have none",
                )


def _warnings(config: SweepConfig, splits: Splits) -> Iterator[Problem]:
    from corpora.splits import family_count
    from sweeps.soup.certify import FAMILIES

    if "confirm" not in splits:
        yield Problem("corpora.confirm", "is absent: no soup can be certified, the best single checkpoint ships")
    else:
        families = sum(family_count(corpus) for corpus in splits["confirm"])
        if families < FAMILIES:
            yield Problem("corpora.confirm", f"has {families} families; under {FAMILIES} no soup can be certified")
    if config.order == "deterministic" and config.budget.hours:
        yield Problem(
            "budget.hours", "how many trials fit depends on timing, which `order: deterministic` promises not to"
        )
    steps = list(candidates(config.space.entries.get("steps", default_of("steps"))))
    if config.scheduler.kind != "none" and config.scheduler.grace >= max(steps):
        yield Problem("scheduler.grace", f"no trial has more than {max(steps)} steps: nothing will be stopped")
    points, asked = config.space.size, config.search.trials
    if points is not None and asked is not None and points < asked:
        yield Problem("search.trials", f"the space has {points} points only: {points} trials")


def _machine_warnings(config: SweepConfig, found: Estimate) -> Iterator[Problem]:
    if os.environ.get("RAY_ADDRESS"):
        return
    cpus, asked = os.cpu_count() or 1, config.resources.slots * config.resources.cpus
    if asked > cpus:
        yield Problem(
            "resources", f"{config.resources.slots} trials of {config.resources.cpus:g} CPUs on {cpus}: they will share"
        )
    free = shutil.disk_usage(Path.cwd()).free / 1e9
    if found.disk_gb > free:
        yield Problem("disk", f"{found.disk_gb:.1f} GB estimated, {free:.1f} GB free here")


def _hours(hours: float) -> str:
    return f"{hours:.1f} hours" if hours >= 1 else f"{60 * hours:.1f} minutes"
