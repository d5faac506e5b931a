"""`plan --probe`: one short trial on a sample of the sweep's own data, timed where trials will run.

The trial is an ordinary sweep's, of the default setting: the same base+, teacher, workers and evaluation. What it
took replaces the estimate: a step and an evaluation are scaled by how much longer they took than estimated for the
same work.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from corpora import native
from corpora.documents import Corpus
from corpora.errors import StockpotError
from sweeps.config import SweepConfig
from sweeps.corpora_config import train_corpora
from sweeps.default_setting import default_setting
from sweeps.estimates import Estimate, estimate
from sweeps.ledger_state import LedgerState
from sweeps.plan import Plan, encodes_of
from sweeps.plan_inputs import read_splits, size_of
from sweeps.preparation import Say
from sweeps.runner import Sweep
from trainables.inline import inline_sample

STEPS = 4  # two checkpoints: the first warms up, the second is timed
DOCUMENTS = 64  # of each training corpus, or two batches of them


@dataclass(frozen=True)
class Probe:
    """What the timed trial took, and what the estimate says of the same work."""

    step_seconds: float
    estimated_step_seconds: float
    checkpoint_seconds: float  # writing it and reading the inline metric off it
    evaluation_seconds: float  # of the sample of dev
    estimated_evaluation_seconds: float
    checkpoint_gb: float
    state_gb: float
    memory_gb: float

    def lines(self) -> list[str]:
        return [
            f"probe: a step took {self.step_seconds:.2f} s (estimated {self.estimated_step_seconds:.2f}), a checkpoint "
            f"{self.checkpoint_seconds:.2f} s, the evaluation of a sample of dev {self.evaluation_seconds:.1f} s "
            f"(estimated {self.estimated_evaluation_seconds:.1f})"
        ]

    def calibrated(self, rough: Estimate, slots: int, gpus: float) -> Estimate:
        training = rough.training_hours * self.step_seconds / self.estimated_step_seconds
        training += rough.checkpoints * self.checkpoint_seconds / 3600
        evaluation = rough.evaluation_hours * self.evaluation_seconds / self.estimated_evaluation_seconds
        return replace(
            rough,
            training_hours=training,
            evaluation_hours=evaluation,
            wall_hours=(training + evaluation) / slots,
            gpu_hours=gpus * (training + evaluation),
            disk_gb=rough.checkpoints * self.checkpoint_gb + rough.trials * self.state_gb,
            memory_gb=self.memory_gb,
        )


def probed(planned: Plan, say: Say) -> Plan:
    """The plan with its estimate calibrated; what the probe makes is thrown away."""
    on_cluster = os.environ.get("RAY_ADDRESS")  # its nodes see the working directory, not this machine's own files
    with tempfile.TemporaryDirectory(prefix="stockpot-probe-", dir=Path.cwd() if on_cluster else None) as made:
        found = measure(planned, Path(made), say)
    resources = planned.config.resources
    calibrated = found.calibrated(planned.estimate, resources.slots, resources.gpus)
    return replace(planned, estimate=calibrated, rough=planned.estimate, probe=found)


def measure(planned: Plan, folder: Path, say: Say) -> Probe:
    config = planned.config
    sample = _sample(config)
    for name, corpus in sample.items():
        native.write(corpus, folder / name)
    asked = _probe_config(config, sample, folder)
    run = Sweep(asked, folder / "sweep", say, trials_only=True)
    state = run.run()
    trained = [corpus for name, corpus in sample.items() if name != "dev"]
    resources, recipe = config.resources, asked.space.suggest(lambda name, entry: None).recipe
    rough = estimate(planned.model, size_of(trained), size_of([sample["dev"]]), [recipe], 1, encodes_of(config), 1, resources.gpus)
    return _read(state, run.folder, rough, [*run.failures.values()])


def _read(state: LedgerState, folder: Path, rough: Estimate, failures: list[str]) -> Probe:
    (trial,) = state.trials.values()
    steps = sorted(trial.checkpoints)
    scores = trial.checkpoints[steps[-1]].scores.get("dev") if steps else None
    if len(steps) < 2 or scores is None or scores.seconds is None:
        raise StockpotError(f"the probe's trial did not come to its end ({'; '.join([trial.reason, *failures]).strip('; ') or trial.status})")
    taken, system = trial.reports[steps[-1]].seconds, trial.reports[steps[-1]].system
    first, last = (_gigabytes(folder / trial.checkpoints[step].folder) for step in (steps[0], steps[-1]))
    return Probe(
        step_seconds=taken["train"] / (steps[-1] - steps[-2]),
        estimated_step_seconds=3600 * rough.training_hours / rough.steps,
        checkpoint_seconds=taken["checkpoint"] + taken["inline"],
        evaluation_seconds=scores.seconds,
        estimated_evaluation_seconds=3600 * rough.evaluation_hours / rough.checkpoints,
        checkpoint_gb=first,
        state_gb=max(0.0, last - first),
        memory_gb=system.get("peak_memory_megabytes", 0.0) / 1000 or rough.memory_gb,
    )


def _probe_config(config: SweepConfig, sample: Mapping[str, Corpus], folder: Path) -> SweepConfig:
    weights = [one.weight for one in train_corpora(config.corpora)] or [1.0]
    train = [{"folder": str(folder / name), "weight": weight} for name, weight in zip(_names(sample), weights, strict=True)]
    recipe = default_setting(config.space).recipe.model_dump(mode="json")
    content = config.model_dump(mode="json", by_alias=True)
    return SweepConfig.model_validate(content | {
        "name": "probe",
        "corpora": {"train": train, "dev": [str(folder / "dev")]},
        "recipe": recipe | {"steps": STEPS, "checkpoint_every": STEPS // 2},
        "search": {"sampler": "grid", "seed": config.search.seed, "objectives": content["search"]["objectives"]},
        "scheduler": {"kind": "none"}, "budget": {}, "mlflow": {}, "resources": content["resources"] | {"slots": 1},
    })  # fmt: skip


def _names(sample: Mapping[str, Corpus]) -> list[str]:
    return [name for name in sample if name != "dev"]


def _sample(config: SweepConfig) -> dict[str, Corpus]:
    """`train-0`, `train-1`, ...: some documents of each training corpus; `dev`: what the inline metrics are read off."""
    splits = read_splits(config, [])
    batch = getattr(default_setting(config.space).recipe, "documents_per_batch", 1)
    parts = {f"train-{place}": _some(part, max(DOCUMENTS, 2 * batch)) for place, part in enumerate(splits["train"])}
    dev = splits["dev"][0]
    inline = inline_sample(dev, config.evaluation.inline_queries, config.search.seed)
    return parts | {"dev": inline if inline.queries else _some(dev, DOCUMENTS)}


def _some(corpus: Corpus, documents: int) -> Corpus:
    """The documents of queries in random order, until there are so many, and the queries that ask for no others."""
    held: set[str] = set()
    for place in np.random.default_rng(0).permutation(len(corpus.queries)):
        if len(held) >= documents:
            break
        held |= {target.document for target in corpus.queries[place].targets}
    queries = tuple(query for query in corpus.queries if all(target.document in held for target in query.targets))
    return Corpus(corpus.name, tuple(document for document in corpus.documents if document.id in held), queries)


def _gigabytes(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e9
