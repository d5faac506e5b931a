"""kill -9 of workers, raylets, drivers and MLflow's servers at seeded random moments of a small fast sweep, many times.

    python benchmarks/faults.py [--runs 100] [--first 0] [--seeds N ...] [--keep FOLDER]

Run n is decided by the seed n alone. After each the sweep must have ended, with the ledger of the undisturbed one, exactly
one MLflow run a trial, every metric once and as the ledger has it, no process and no placement group left. Prints a table:
what was killed, how often, what was lost. A run takes about a minute on two cores. Needs PostgreSQL.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # tests/faults is in the repository only
os.chdir(ROOT)

from sweeps import mlflow_store  # noqa: E402
from tests.faults.run import KINDS, Run  # noqa: E402
from tests.faults.surroundings import surroundings  # noqa: E402
from tests.faults.world import World  # noqa: E402
from tests.sweeps.postgres import running_postgres, server_programs  # noqa: E402


class Outcome(NamedTuple):
    kind: str
    run: Run | None  # None: what it needs around it did not start
    lost: str  # empty for nothing


def main() -> int:
    reading = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reading.add_argument("--runs", type=int, default=100)
    reading.add_argument("--first", type=int, default=0, help="seed of the first run")
    reading.add_argument("--seeds", type=int, nargs="+", help="these runs alone, instead")
    reading.add_argument("--keep", type=Path, help="work there and leave everything; runs that fail are always left")
    asked = reading.parse_args()
    programs = server_programs()
    if programs is None:
        sys.exit("PostgreSQL is not installed (Debian: postgresql)")
    folder = asked.keep or Path(tempfile.mkdtemp(prefix="faults-"))
    folder.mkdir(parents=True, exist_ok=True)
    with running_postgres(programs) as postgres:
        os.environ.update(postgres.environment)
        empty = postgres.database()
        mlflow_store.open_client(empty).search_experiments()
        print("an undisturbed sweep first", flush=True)
        world = World.make(folder / "world")
        runs = [_run(world, seed, folder, lambda: (postgres, empty)) for seed in asked.seeds or range(asked.first, asked.first + asked.runs)]
    _table(runs)
    failed = any(one.lost for one in runs)
    if not (failed or asked.keep):
        shutil.rmtree(folder)
    return 1 if failed else 0


def _run(world: World, seed: int, folder: Path, postgres) -> Outcome:
    began, run, lost = time.monotonic(), None, ""
    place = folder / f"around-{seed}"
    place.mkdir(exist_ok=True)
    try:
        with surroundings(seed, place, postgres) as around:
            run = Run(world, seed, **around)
            run.go()
    except Exception as error:  # the other runs are still worth something
        lost = str(error) or type(error).__name__
    else:
        for done in (place, run.out):
            shutil.rmtree(done, ignore_errors=True)
    blows = ", ".join(run.blows) if run else ""
    kind = KINDS[seed % len(KINDS)]
    print(f"run {seed}: {kind}: {blows or 'nothing was hit'}: {lost.strip() or 'nothing lost'} ({time.monotonic() - began:.0f} s)", flush=True)
    return Outcome(kind, run, lost)


def _table(outcomes: list[Outcome]) -> None:
    rows = defaultdict(lambda: [0, 0, 0, 0, 0])
    for kind, run, lost in outcomes:
        counts = (1, len(run.blows), run.resumed, run.synced, bool(lost)) if run else (1, 0, 0, 0, 1)
        rows[kind] = [before + count for before, count in zip(rows[kind], counts, strict=True)]
    print("\n| killed | runs | kills | resumed | synced after | runs that lost something |\n|---|---|---|---|---|---|")
    for kind in KINDS:
        print(f"| {kind} | {' | '.join(map(str, rows[kind]))} |")


if __name__ == "__main__":
    sys.exit(main())
