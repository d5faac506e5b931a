"""A sweep's trials as one writes them without stockpot's sweep: what benchmarks/sweep.py compares with.

    python benchmarks/plain_trials.py TRIALS.json        {"config": of a sweep, "corpora", "folder", "recipes": [...]}

A Tune function trainable that does everything itself: reads the corpora, builds the student, tokenises, asks the teacher,
trains, and evaluates one dimension after the other at every checkpoint; Tune's own MLflow callback logs. Training,
losses and metrics are stockpot's, the same steps on the same data, so that only the way of running them differs. Prints one
JSON object: wall seconds, and the seconds of each part of each trial.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ray
from ray import tune
from ray.air.integrations.mlflow import MLflowLoggerCallback


def train(config: dict[str, Any]) -> None:
    clock = Clock()
    with clock("imports"):
        from corpora import native
        from corpora.prepared import prepare
        from corpora.tokens import Tokenizer
        from evaluators.evaluate import evaluate
        from evaluators.tasks import Task
        from sweeps.config import SweepConfig
        from sweeps.preparation import chunkings_in_play
        from trainables.base import build_base
        from trainables.data import TrainingData
        from trainables.loop import Loop
        from trainables.teachers import score
        from trainables.training import BuiltIn
    sweep = SweepConfig.model_validate(config["sweep"])
    recipe, axes = BuiltIn.Recipe.model_validate(config["recipe"]), sweep.evaluation
    with tempfile.TemporaryDirectory() as scratch:
        store = Path(scratch)
        with clock("corpora and student"):
            corpus, dev = (native.read(Path(config["corpora"]) / split) for split in ("train", "dev"))
            base = build_base(sweep.student, store)
        with clock("tokenising"):
            tokenizer = Tokenizer.from_folder(base)
            prepared = prepare(corpus, tokenizer, chunkings_in_play(sweep), store / "prepared")
        with clock("teacher"):
            scores = score(sweep.teacher, corpus, store)
        with clock("training"):
            loop = Loop(BuiltIn, recipe, TrainingData.build(corpus, prepared, tokenizer, scores, store), base, store / "trial")
        for until in [*range(recipe.checkpoint_every, recipe.steps, recipe.checkpoint_every), recipe.steps]:
            with clock("training"):
                metrics = loop.train(until)
                loop.checkpoint()
            with clock("evaluation"):
                for dimension in (sweep.student.dimension, *axes.dimensions):
                    results = evaluate(
                        loop.encoder(), [Task.of(dev)], axes.suites, dimensions=[dimension], precisions=axes.precisions,
                        ks=axes.k, chunking=axes.chunking, chunk_sizes=axes.chunk_sizes,
                    )  # fmt: skip
                    metrics |= {f"d{dimension}/{name}": value for name, value in results.figures().items()}
            # MLflow allows few signs in a metric's name.
            plain = {"".join(sign if sign.isalnum() or sign in "/-_. " else "_" for sign in name): value for name, value in metrics.items()}
            tune.report({**plain, "seconds": dict(clock.spent)})


class Clock:
    """Seconds by the name of what they went into."""

    def __init__(self):
        self.spent: dict[str, float] = defaultdict(float)

    @contextmanager
    def __call__(self, name: str):
        begun = time.perf_counter()
        yield
        self.spent[name] += time.perf_counter() - begun


def main() -> None:
    asked = json.loads(Path(sys.argv[1]).read_text())
    begun, folder = time.perf_counter(), Path(asked["folder"])
    ray.init(num_cpus=asked["config"]["resources"]["slots"], include_dashboard=False, log_to_driver=False)
    tuner = tune.Tuner(
        tune.with_resources(train, {"cpu": 1}),
        param_space={"recipe": tune.grid_search(asked["recipes"]), "sweep": asked["config"], "corpora": asked["corpora"]},
        run_config=tune.RunConfig(
            name="plain", storage_path=str(folder / "tune"), verbose=0,
            callbacks=[MLflowLoggerCallback(tracking_uri=f"sqlite:///{folder}/plain.db", experiment_name="plain")],
        ),
    )  # fmt: skip
    results = tuner.fit()
    failed = [str(error) for error in results.errors]
    trials = [result.metrics["seconds"] for result in results if not result.error]
    print(json.dumps({"wall": time.perf_counter() - begun, "trials": trials, "failed": failed}))


if __name__ == "__main__":
    main()
