"""A suite file: what is evaluated on what, as one frozen value read from YAML; everything wrong with it at once."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from corpora import native
from corpora.chunkings import Chunking
from corpora.documents import Corpus
from corpora.errors import InputError, Problem
from corpora.splits import FILE, thaw
from corpora.yaml_file import read_yaml
from corpora.yaml_model import Frozen, validated
from evaluators.codes import PRECISIONS
from evaluators.evaluate import DEFAULT_SUITES
from evaluators.metrics import DEEPEST, LARGEST
from evaluators.suites import SUITES
from evaluators.suites.needle import DEPTHS, NeedlePlan
from evaluators.suites.needles import BUILT_IN, read, with_expansions
from evaluators.tasks import Task

Counts = Annotated[tuple[Annotated[int, Field(ge=1, le=LARGEST)], ...], Field(min_length=1)]


class SuiteTask(Frozen):
    corpus: str = Field(description="folder of a corpus in the native format")
    name: str | None = Field(None, min_length=1, description="the folder's by default")
    split: str | None = Field(None, description="one of the corpus's frozen splits (splits.json); the whole by default")
    domain: str | None = Field(None, description="attribute of the task: bars are drawn by domain")

    @property
    def shown(self) -> str:
        return self.name or "-".join(filter(None, (Path(self.corpus).name, self.split)))


class NeedleSuite(Frozen):
    lengths: Counts | None = Field(None, description="in tokens; 128 to 8192, as far as the filler goes, by default")
    depths: Annotated[tuple[Annotated[float, Field(ge=0, le=1)], ...], Field(min_length=1)] = DEPTHS
    needles: str | None = Field(None, description="JSONL of needles of your own (evaluators/suites/needles.py)")
    expansions: str | None = Field(None, description="JSONL of query expansions (`needles.with_expansions`)")
    seed: int = Field(0, ge=0)

    def plan(self) -> NeedlePlan:
        needles = read(Path(self.needles)) if self.needles else BUILT_IN
        if self.expansions:
            needles = with_expansions(needles, Path(self.expansions))
        return NeedlePlan(needles, self.lengths, self.depths, self.seed)


class SuiteFile(Frozen):
    """Every field has the default of `evaluate`, which is the sources' own."""

    name: str = Field(min_length=1, max_length=100, pattern=r"^[\w.-]+$", description="the file's own by default")
    tasks: tuple[SuiteTask, ...] = ()
    suites: Annotated[tuple[Literal[tuple(SUITES)], ...], Field(min_length=1)] = DEFAULT_SUITES
    chunking: str | None = Field(None, description="of q2c, q2d, context, storage and spans; `sentence` by default")
    chunk_sizes: Counts = (64, 128, 256, 512)
    dimensions: Counts | None = Field(None, description="cuts of the vectors; the full dimension by default")
    precisions: Annotated[tuple[Literal[PRECISIONS], ...], Field(min_length=1)] = PRECISIONS
    k: Annotated[tuple[Annotated[int, Field(ge=1, le=DEEPEST)], ...], Field(min_length=1)] = (1, 5, 10)
    budgets: tuple[Annotated[int, Field(ge=1)], ...] = Field((2000,), description="context tokens of the spans suite")
    needle: NeedleSuite = NeedleSuite()

    @field_validator("chunking")
    @classmethod
    def _spelling(cls, chunking: str | None) -> str | None:
        return None if chunking is None else str(Chunking.parse(chunking))

    @model_validator(mode="after")
    def _tasks_apart(self) -> SuiteFile:
        names = [task.shown for task in self.tasks]
        if len(set(names)) < len(names):
            raise ValueError(f"each task needs a name of its own, found {', '.join(names)}: give `name`")
        return self

    def settings(self) -> dict[str, Any]:
        """The keywords of `evaluate`."""
        return {
            "suites": self.suites, "chunking": self.chunking, "chunk_sizes": self.chunk_sizes,
            "dimensions": self.dimensions, "precisions": self.precisions, "ks": self.k, "budgets": self.budgets, "needle": self.needle.plan(),
        }  # fmt: skip

    def read_tasks(self, check: Callable[[Path], None]) -> list[Task]:
        """The corpora, read; `check` is asked about the folder of each, and of its split, first and may refuse it."""
        for task in self.tasks:
            check(Path(task.corpus) / task.split if task.split else Path(task.corpus))
        return [Task.of(_corpus(task), task.shown, task.domain) for task in self.tasks]

    def sha256(self, tasks: list[Task]) -> str:
        """Of what is measured on what: the settings, the needles themselves, and the corpora's content."""
        said = self.model_dump(mode="json", exclude={"tasks", "name"}) | {"needle": repr(self.needle.plan())}
        content = [said, [(task.name, task.domain, task.corpus.sha256) for task in tasks]]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def load(path: Path) -> SuiteFile:
    """Reads a suite file; relative paths in it start at its folder. Raises InputError with all problems."""
    path = Path(path)
    data, lines = read_yaml(path)
    return validated(SuiteFile, {"name": path.stem, **_resolved(data, path.absolute().parent)}, path, lines)


def _resolved(data: dict[str, Any], base: Path) -> dict[str, Any]:
    """Paths made absolute; what has another form than expected is left to the model to refuse."""
    def absolute(record: Any, keys: tuple[str, ...]) -> Any:
        if not isinstance(record, dict):
            return record
        paths = {key for key in keys if isinstance(record.get(key), str)}
        return record | {key: os.path.realpath(base / os.path.expanduser(record[key])) for key in paths}

    out = dict(data)
    if isinstance(data.get("tasks"), list):
        out["tasks"] = [absolute(task, ("corpus",)) for task in data["tasks"]]
    if "needle" in data:
        out["needle"] = absolute(data["needle"], ("needles", "expansions"))
    return out


def _corpus(task: SuiteTask) -> Corpus:
    """The corpus, or its split: a folder of that name inside it, or the records that its splits.json names."""
    folder = Path(task.corpus)
    if task.split is None:
        return native.read(folder)
    if (folder / task.split / "documents.jsonl").is_file():
        return native.read(folder / task.split)
    splits = thaw(folder, native.read(folder)) if (folder / FILE).is_file() else {}
    if task.split not in splits:
        raise InputError(Problem(f"{folder}: split {task.split!r}",
                                 f"is not there; frozen splits: {', '.join(splits) or 'none'}"))
    return splits[task.split]
