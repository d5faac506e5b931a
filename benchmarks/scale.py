"""What a sweep of 10,000 trials costs its driver, by simulation: trials are instant, decisions and writes are real.

    python benchmarks/scale.py                               10,000 trials x 20 reports: minutes
    python benchmarks/scale.py --trials 500 --projected 50   a look, seconds

The conductor proposes, writes, decides and ends trials as under Tune, each report with its checkpoint and its scores on
dev; Tune itself is left out. Event files are not synced to disk save with `--synced`: what a sync takes is the disk's.
Then the ledger is read anew and compared with the driver's own state, and `--projected` trials of a sweep of their own go to
MLflow (SQLite) as in a driver, where every run and every metric is counted. benchmarks/ledger.py times the readers.
Targets: 25 KB a finished trial; 20 ms a trial; nothing missing.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.metadata import version
from pathlib import Path
from unittest import mock

import mlflow
from ledger import FIGURES, METRICS, SYSTEM

import sweeps.ledger
from sweeps.comparison import comparable
from sweeps.conductor import Conductor, Next
from sweeps.config import SweepConfig
from sweeps.ledger import Ledger
from sweeps.ledger_state import Trial
from sweeps.projector import Projector


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--reports", type=int, default=20)
    parser.add_argument("--sampler", choices=("random", "tpe", "motpe", "nsga2"), default="random")
    parser.add_argument("--scheduler", choices=("none", "asha", "median"), default="none", help="others stop trials early")
    parser.add_argument("--projected", type=int, default=200, help="trials that are sent to MLflow")
    parser.add_argument("--synced", action="store_true", help="sync every event to disk, as a sweep does")
    asked = parser.parse_args()
    print(f"Python {platform.python_version()}, optuna {version('optuna')}, mlflow {version('mlflow')}; {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as scratch, nullcontext() if asked.synced else unsynced():
        driven(Path(scratch) / "large", asked.trials, asked)
        if asked.projected:
            projected(Path(scratch) / "projected", asked)


def driven(folder: Path, trials: int, asked: argparse.Namespace) -> None:
    """Runs the sweep and prints what the driver's own part took."""
    driver = Driver(folder, trials, asked)
    driver.run(trials // 5)
    early = memory()
    before, wall = time.process_time(), time.perf_counter()
    driver.run(trials)
    took, wall = time.process_time() - before, time.perf_counter() - wall
    rest = trials - trials // 5
    print(f"{trials} trials x {asked.reports} reports, {asked.sampler}, scheduler {asked.scheduler}; the last {rest}:")
    print(f"  driver's memory     {(memory() - early) / rest:8.1f} KB a trial")
    print(f"  conductor, search and ledger  {1e3 * took / rest:8.2f} ms a trial ({1e3 * wall / rest:.2f} wall); "
          f"the last 100 proposals {1e3 * sum(driver.proposing[-100:]) / len(driver.proposing[-100:]):.2f} ms each")  # fmt: skip
    equal = comparable(Ledger.open(folder).state()) == comparable(driver.ledger.state())
    found = driver.ledger.state().trials
    reports = sum(len(trial.reports) for trial in found.values())
    scored = sum("dev" in checkpoint.scores for trial in found.values() for checkpoint in trial.checkpoints.values())
    complete = equal and len(found) == trials and all(trial.has_ended for trial in found.values()) and reports == scored == driver.reports
    print(f"  ledger read anew    {'complete' if complete else 'NOT complete'}: {len(found)} trials, {reports} reports, {scored} scores")


def projected(folder: Path, asked: argparse.Namespace) -> None:
    """Sends a sweep to MLflow while it runs and counts what arrived."""
    driver = Driver(folder, asked.projected, asked)
    ledger, half = driver.ledger, asked.projected // 2
    projector = Projector(folder, ledger=ledger)
    driver.run(half)
    projector.update(pages=False)
    early = memory()
    driver.run(asked.projected)
    begun = time.perf_counter()
    projector.update(pages=False)
    took = time.perf_counter() - begun
    late = memory()
    ledger.append("closed", {"status": "finished"}, 1.0)
    projector.update()
    client = mlflow.MlflowClient(projector.uri)
    experiment = client.get_experiment_by_name(projector.experiment).experiment_id
    runs, token = [], None
    while token is None or token:
        page = client.search_runs([experiment], max_results=1000, page_token=token)
        runs, token = [*runs, *page], page.token or ""
    children = [run for run in runs if "mlflow.parentRunId" in run.data.tags]
    sent = sum(len(client.get_metric_history(run.info.run_id, name)) for run in children for name in run.data.metrics if name.startswith("loss"))
    losses = sum(name.startswith("loss") for name in METRICS)
    expected = losses * sum(len(trial.reports) for trial in ledger.state().trials.values())
    whole = len(children) == asked.projected and sent == expected and not projector.pending()
    print(f"  MLflow              {'complete' if whole else 'NOT complete'}: {len(children)} runs, {sent} of {expected} points of "
          f"{losses} losses; {1e3 * took / (asked.projected - half):.0f} ms a trial")  # fmt: skip
    print(f"  driver's memory with the projector {(late - early) / (asked.projected - half):8.1f} KB a trial")


class Driver:
    """Instant trials under a real conductor and a real ledger; what a trial reports follows from its ordinal."""

    def __init__(self, folder: Path, trials: int, asked: argparse.Namespace):
        config = SweepConfig.model_validate({
            "name": folder.name,
            "corpora": {"generate": "quick"},
            "recipe": {"weight": {"uniform": [0, 1]}, "learning_rate": {"loguniform": [1e-5, 1e-3]}, "top_n": {"randint": [1, 8]},
                       "steps": 20 * asked.reports, "checkpoint_every": 20},
            "search": {"sampler": asked.sampler, "trials": trials, "seed": 0},
            "scheduler": {"kind": asked.scheduler} | ({"grace": 20, "reduction": 4} if asked.scheduler == "asha" else {}),
            "order": "asynchronous",
        })  # fmt: skip
        attributes = {"config": config.sha256, "code": "k" * 64, "data": {"dev": "d" * 64}}
        sweep = {"sweep_id": "0123456789ab", "name": config.name, "config": config.model_dump(mode="json"), "attributes": attributes}
        self.ledger = Ledger.create(folder, sweep, 0.0)
        self.now, self.reports, self.proposing = 0.0, 0, []
        self.conductor = Conductor(config, self.ledger, lambda: self.now)
        self._steps = [20 * report for report in range(1, asked.reports + 1)]

    def run(self, trials: int) -> None:
        """Until so many have ended."""
        while len(self.ledger.state().trials) < trials:
            begun = time.process_time()
            trial = self.conductor.next_trial()
            self.proposing.append(time.process_time() - begun)
            assert not isinstance(trial, Next), "trials that ended at once keep nobody waiting"
            self._ends(trial)

    def _ends(self, trial: Trial) -> None:
        for step in self._steps:
            self._reports(trial.ordinal, step)
            if self.conductor.decide(trial.ordinal, step) == "stop":
                return self.conductor.ended(trial.ordinal, "stopped")
        return self.conductor.ended(trial.ordinal, "finished")

    def _reports(self, ordinal: int, step: int) -> None:
        self.now += 1.0
        self.reports += 1
        value = (ordinal * 7919 + step) % 10_007 / 10_007
        seconds = {"train": value, "checkpoint": value / 2, "inline": value / 3}
        self.conductor.reported([
            ("report", {"ordinal": ordinal, "step": step, "metrics": {name: value + i for i, name in enumerate(METRICS)},
                        "seconds": seconds, "system": SYSTEM}),
            ("checkpoint", {"ordinal": ordinal, "step": step, "folder": f"trials/{ordinal:012d}/step-{step:06d}",
                            "sha256": f"{ordinal:032d}{step:032d}"}),
        ])  # fmt: skip
        figures = {name: value / (i + 1) for i, name in enumerate(FIGURES)}
        scores = {"ordinal": ordinal, "step": step, "split": "dev", "figures": figures, "per_query": f"ledger/scores/dev-{ordinal}-{step}.parquet"}
        self.ledger.append("scores", scores, self.now)


@contextmanager
def unsynced() -> Iterator[None]:
    """Event files are written plainly: thousands of nights' syncs take hours and say nothing of this code."""
    def write(path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    with mock.patch.object(sweeps.ledger, "write_atomically", write):
        yield


def memory() -> float:
    """KB of this process in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024


if __name__ == "__main__":
    main()
