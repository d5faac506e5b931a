"""How fast a large sweep's ledger is written and read, by simulation: nothing is trained.

    python benchmarks/ledger.py [--trials 10000] [--reports 20] [--keep FOLDER]

Writes the ledger that a driver of so many instant trials would write, every report with its
checkpoint and its scores on dev, and prints the seconds of each reader and the memory that
the driver's own copy takes. Event files are not synced to disk, which a driver does.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

import sweeps.ledger
from sweeps.ledger import Ledger

FIGURES = [
    *(f"dev/context/{metric}@{k}" for metric in ("Document", "Answer", "EvidenceRecall") for k in (1, 5, 10)),
    "dev/context/AllEvidence@10", "dev/context/EvidenceCeiling", "dev/chunk-size/drop", "dev/chunk-size/slope",
    *(f"dev/{suite}/nDCG@{k}" for suite in ("q2c", "q2d") for k in (1, 5, 10)),
    *(f"dev/chunk-size/nDCG@{k}[tokens:{size}]" for size in (64, 128) for k in (1, 5, 10)),
    *(f"dev/storage/nDCG@10[d={dimension},{precision}]" for dimension in (64, 384) for precision in ("float32", "int8", "binary")),
]  # fmt: skip
"""What every suite gives the demo's checkpoints."""
METRICS = ["inline/Answer@10", "inline/Document@1", "loss", "loss/document", "loss/distribution", "gradient_norm",
           "gradient_norm/document", "gradient_norm/distribution", "learning_rate", "tokens"]  # fmt: skip
SYSTEM = {"cpu_utilization_percentage": 97.5, "peak_memory_megabytes": 512.0}


def main() -> None:
    reading = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reading.add_argument("--trials", type=int, default=10_000)
    reading.add_argument("--reports", type=int, default=20)
    reading.add_argument("--keep", type=Path, help="write the sweep there and leave it")
    asked = reading.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.keep or Path(scratch)
        before = _memory()
        began = time.perf_counter()
        # Ten thousand nights' syncs take hours and say nothing of this code.
        with mock.patch.object(sweeps.ledger, "write_atomically", lambda path, content: _write(path, content)):
            ledger = _simulated(folder, asked.trials, asked.reports)
        seconds = time.perf_counter() - began
        print(f"{asked.trials} trials x {asked.reports} reports, each with a checkpoint and {len(FIGURES)} figures on dev")
        print(f"written by the driver    {seconds:8.2f} s, {1e3 * seconds / asked.trials:.1f} ms a trial (without syncs)")
        print(f"driver's memory          {(_memory() - before) / asked.trials:8.1f} KB a trial")
        del ledger
        began = time.perf_counter()
        Ledger.open(folder)
        print(f"Ledger.open              {time.perf_counter() - began:8.2f} s")
        for arguments in (["status"],):
            began, used = time.perf_counter(), os.times()
            command = [sys.executable, "-c", "from stockpot.cli import main; main()", *arguments, str(folder)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            cpu = sum(os.times()[2:4]) - sum(used[2:4])
            print(f"{'stockpot ' + ' '.join(arguments):<24} {time.perf_counter() - began:8.2f} s, {cpu:.2f} s of CPU, Python's start included")


def _simulated(folder: Path, trials: int, reports: int) -> Ledger:
    config = {
        "name": "simulated",
        "search": {"trials": trials, "objectives": [{"metric": f"context/{name}", "direction": "maximize"} for name in ("Answer@10", "Document@1")]},
        "scheduler": {"metric": "inline/Answer@10"}, "budget": {"hours": None},
    }  # fmt: skip
    attributes = {"config": "c" * 64, "code": "k" * 64, "data": {"dev": "d" * 64}}
    ledger = Ledger.create(folder, {"sweep_id": "0123456789ab", "name": "simulated", "config": config, "attributes": attributes}, 0.0)
    now = 0.0
    for ordinal in range(trials):
        varied = {"weight": ordinal / trials}
        ledger.append("proposed", {"ordinal": ordinal, "params": {**varied, "steps": 20 * reports, "seed": 0}, "varied": varied}, now)
        ledger.append("started", {"ordinal": ordinal}, now)
        for report in range(1, reports + 1):
            now += 1.0
            step, value = 20 * report, (ordinal * 7919 + report) % 10_007 / 10_007
            seconds = {"train": value, "checkpoint": value / 2, "inline": value / 3}
            place = f"trials/{ordinal:012d}/step-{step:06d}"
            ledger.append_all([
                ("report", {"ordinal": ordinal, "step": step, "metrics": {name: value + i for i, name in enumerate(METRICS)},
                            "seconds": seconds, "system": SYSTEM}),
                ("checkpoint", {"ordinal": ordinal, "step": step, "folder": place, "sha256": f"{ordinal:032d}{step:032d}"}),
            ], now)  # fmt: skip
            figures = {name: value / (i + 1) for i, name in enumerate(FIGURES)}
            scores = {"ordinal": ordinal, "step": step, "split": "dev", "figures": figures, "per_query": f"ledger/scores/dev-{ordinal}-{step}.parquet"}
            ledger.append("scores", scores, now)
        ledger.append("ended", {"ordinal": ordinal, "status": "finished"}, now)
    ledger.append("closed", {"status": "finished"}, now)
    return ledger


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _memory() -> float:
    """KB of this process in memory."""
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") / 1024


if __name__ == "__main__":
    main()
