"""A driver that runs a sweep's trials and strikes at the worst moments: `python -m tests.stockpot.disturbed_driver YAML OUT BLOW`.

BLOW `driver`: it kills itself once the first takeover stands in the ledger and before the trial is told;
`workers`: it kills the workers once a trial has trained on after a takeover and before the next decision.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from sweeps.conductor import Conductor
from sweeps.config import load
from sweeps.runner import Sweep
from sweeps.training import Training


def main(yaml: Path, out: Path, blow: str) -> None:
    sweep = Sweep(load(yaml), out, print, trials_only=True)
    if blow == "driver":
        Training._instruct = lambda training, trial: os.kill(os.getpid(), signal.SIGKILL)
    else:
        Conductor.reported = _striking(Conductor.reported)
    sweep.run(resume=out.exists())


def _striking(reported):
    struck = []

    def report(self, events) -> None:
        reported(self, events)
        trial = self.trials[events[0][1]["ordinal"]]
        if trial.exploits and max(trial.reports) > min(trial.exploits) and not struck:
            struck.extend(trial_workers())
            for process in struck:
                os.kill(process, signal.SIGKILL)

    return report


def trial_workers() -> list[int]:
    """The processes of trials that descend from this one."""
    parents, found = {}, []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            if (place / "cmdline").read_bytes().startswith(b"ray::TuneTrial"):
                found.append(int(place.name))
        except OSError:  # it has ended
            continue

    def descends(process: int) -> bool:
        while process in parents and process != os.getpid():
            process = parents[process]
        return process == os.getpid()

    return [process for process in sorted(found) if descends(process)]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
