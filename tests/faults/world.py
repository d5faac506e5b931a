"""A sweep of seconds, prepared once: five trials of three checkpoints, decided in an order of its own, and how it ends undisturbed."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from corpora import native
from corpora.generator.generate import generate
from corpora.generator.settings import GeneratorSettings
from sweeps.comparison import comparable
from sweeps.ledger import Ledger
from tests.stockpot.command import stockpot
from tests.sweeps.tiny_sweep import sweep_file

SPLITS = {"train": 4, "dev": 3, "confirm": 3}
"""Families of each split; a sweep this small certifies nothing, the best single checkpoint ships."""
RECIPE = {
    "weight": {"uniform": [0, 1]}, "top_n": {"randint": [1, 4]}, "dimensions": [16, 8], "documents_per_batch": 4, "steps": 6,
    "checkpoint_every": 2, "warmup_steps": 1, "decay_steps": 1,
}  # fmt: skip


def write_splits(folder: Path) -> dict[str, str]:
    """Splits of a few short documents, by name: nothing is to be learned from them."""
    families = 0
    for split, count in SPLITS.items():
        settings = GeneratorSettings(documents=3 * count, siblings=3, candidates=9, queries=6 * count, length=60)
        native.write(generate(settings, 0, name=split, families_before=families, documents_before=3 * families), folder / split)
        families += count
    return {split: str(folder / split) for split in SPLITS}


@dataclass(frozen=True)
class World:
    folder: Path

    @classmethod
    def make(cls, folder: Path) -> World:
        world = cls(folder)
        write_splits(folder)
        stockpot("prepare", world.sweep(), "--out", folder / "prepared", timeout=900)
        stockpot("sweep", world.sweep(), "--out", world.begin("undisturbed"), timeout=900)
        return world

    def sweep(self, mlflow: str | None = None) -> Path:
        """The YAML, with a tracking server or the sweep's own file."""
        name = "served" if mlflow else "sweep"
        place = self.folder / name
        place.mkdir(exist_ok=True)
        if not (place / "encoder").exists() and (self.folder / "sweep" / "encoder").exists():
            (place / "encoder").symlink_to(self.folder / "sweep" / "encoder")  # one base+, by whatever path
        return sweep_file(
            place,
            corpora={split: str(self.folder / split) for split in SPLITS},
            student={"encoder": str(self.folder / "sweep" / "encoder"), "layers": 1, "dimension": 16},
            recipe=RECIPE,
            search={"sampler": "tpe", "trials": 5, "seed": 0},
            evaluation={"suites": ["context", "q2d"], "inline_queries": 6, "precisions": ["float32"]},
            mlflow={"experiment": "faults", "register": "faults", **({"uri": mlflow} if mlflow else {})},
        )

    def begin(self, name: str) -> Path:
        """A sweep's folder in which everything is prepared."""
        return Path(shutil.copytree(self.folder / "prepared", self.folder / name))

    @cached_property
    def reference(self) -> dict[str, Any]:
        return result_of(self.folder / "undisturbed")

    @cached_property
    def events(self) -> int:
        """How many event files the undisturbed driver wrote until the last trial reported: so long there are workers."""
        files = sorted((self.folder / "undisturbed" / "ledger" / "events").glob("*.json"))
        return max(number for number, file in enumerate(files) if '"kind":"report"' in file.read_text())


def result_of(out: Path) -> dict[str, Any]:
    """What a sweep found; where its MLflow is, is no part of it."""
    return {**comparable(Ledger.open(out).state()), "config": None}


def events_in(out: Path) -> int:
    events = out / "ledger" / "events"
    return sum(1 for path in events.glob("*.json") if not path.name.startswith(".")) if events.is_dir() else 0
