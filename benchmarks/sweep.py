"""What a sweep costs beyond its trials' own work, and beside the same trials written plainly.

    python benchmarks/sweep.py                                       4 trials, 2 of them plainly: minutes
    python benchmarks/sweep.py --trials 16 --plain-trials 16         the target's size: three quarters of an hour
    python benchmarks/sweep.py --checkpoint-every 16 --dimensions 256 128 64 32      with less to evaluate
    python benchmarks/sweep.py --trials 2 --plain-trials 1 --steps 4 --checkpoint-every 2     a look

The demo's corpus, student and slots, the `late-interaction` teacher (MiniLM), no early stop and no soup. Ours is `stockpot
sweep`'s own driver with everything it does: Ray, ledger, checkpoints, evaluation of each, MLflow. A trial's own time is what it
spends training, saving and on its inline metric, and what the evaluations of its checkpoints take. The plain trials are in
benchmarks/plain_trials.py: they repeat the first recipes of ours. Where fewer are run than ours, times are compared per
trial. Targets: wall time over own time per slot at most 1.10; plain at least 3 times slower.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sweeps.config import SweepConfig
from sweeps.ledger_state import LedgerState
from sweeps.runner import Sweep


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--plain-trials", type=int, default=2, help="0 for none")
    parser.add_argument("--steps", type=int, default=32)
    parser.add_argument("--checkpoint-every", type=int, default=8)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[256, 128, 64, 32, 16, 8], help="beside 384")
    parser.add_argument("--chunk-sizes", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--generate", choices=("demo", "quick"), default="demo", help="size of the built-in corpus")
    parser.add_argument("--folder", type=Path, help="keep everything there")
    asked = parser.parse_args()
    content = sweep_content(asked)
    config = SweepConfig.model_validate(content)
    print(f"Python {platform.python_version()}, " + ", ".join(f"{name} {version(name)}" for name in ("ray", "torch", "mlflow"))
          + f"; {os.cpu_count()} cores, {config.resources.slots} slots")  # fmt: skip
    print(f"{asked.trials} trials of {asked.steps} steps, a checkpoint every {asked.checkpoint_every}; dimensions "
          f"{[384, *asked.dimensions]} x {', '.join(config.evaluation.precisions)}; suites {', '.join(config.evaluation.suites)}; "
          f"chunkings sentence, {', '.join(f'tokens:{size}' for size in asked.chunk_sizes)}", flush=True)  # fmt: skip
    with tempfile.TemporaryDirectory() as scratch:
        folder = (asked.folder or Path(scratch)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        begun, began = time.time(), time.perf_counter()
        state = Sweep(config, folder / "sweep", lambda what: None, trials_only=True).run()
        wall = time.perf_counter() - began
        ours(state, wall, begun, config.resources.slots)
        if asked.plain_trials:
            plain(state, wall, content, folder, asked.plain_trials, config.resources.slots)


def sweep_content(asked: argparse.Namespace) -> dict[str, Any]:
    return {
        "name": "benchmark",
        "corpora": {"generate": asked.generate, "seed": 0},
        "student": {"encoder": "minilm", "layers": 2, "dimension": 384},
        "teacher": {"kind": "late-interaction", "path": "minilm"},
        "recipe": {
            "weight": {"uniform": [0.1, 0.6]}, "teacher_temperature": {"loguniform": [0.05, 0.3]}, "top_n": {"randint": [1, 5]},
            "chunking_mix": {"sentence": 4, "tokens:64": 1}, "dimensions": [384, 128, 64], "steps": asked.steps,
            "checkpoint_every": asked.checkpoint_every, "warmup_steps": 2, "decay_steps": max(1, asked.steps // 3),
        },
        "search": {"sampler": "random", "trials": asked.trials, "seed": 0},
        "scheduler": {"kind": "none"},
        "evaluation": {"dimensions": asked.dimensions, "chunk_sizes": asked.chunk_sizes, "inline_queries": 40},
        "resources": {"slots": 2, "cpus": 1},
        "order": "asynchronous",
    }  # fmt: skip


def ours(state: LedgerState, wall: float, begun: float, slots: int) -> None:
    """Wall time over own time, and where the wall time went."""
    parts: dict[str, float] = defaultdict(float)
    for trial in state.trials.values():
        for report in trial.reports.values():
            for part, seconds in report.seconds.items():
                parts[part] += seconds
        for checkpoint in trial.checkpoints.values():
            parts["evaluation"] += sum(scores.seconds or 0.0 for scores in checkpoint.scores.values())
    count = len(state.trials)
    failed = [trial.ordinal for trial in state.trials.values() if trial.status != "finished"]
    lacking = sum("dev" not in checkpoint.scores for trial in state.trials.values() for checkpoint in trial.checkpoints.values())
    own, first = sum(parts.values()), min(trial.started for trial in state.trials.values())
    last = max(trial.ended for trial in state.trials.values())
    print(f"ours: {wall:8.1f} s wall, of it {first - begun:.1f} until the first trial starts, {wall - (last - begun):.1f} after "
          f"the last has ended; {len(failed)} failed, {lacking} checkpoints without scores")  # fmt: skip
    print("  own time a trial:  " + ", ".join(f"{part} {seconds / count:.1f}" for part, seconds in parts.items())
          + f", together {own / count:.1f} s")  # fmt: skip
    print(f"  wall / (own time / {slots} slots):     {wall * slots / own:6.3f}     target 1.10 or less", flush=True)


def plain(state: LedgerState, wall: float, content: dict[str, Any], folder: Path, count: int, slots: int) -> None:
    """The same trials, plainly, in a process of their own."""
    recipes = [dict(trial.params) for _, trial in sorted(state.trials.items())][:count]
    asked = {"config": content, "corpora": str(folder / "sweep" / "corpora"), "folder": str(folder), "recipes": recipes}
    (folder / "trials.json").write_text(json.dumps(asked))
    script = Path(__file__).with_name("plain_trials.py")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(script.parent.parent), os.environ.get("PYTHONPATH", "")])}
    for name in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "TUNE_MAX_PENDING_TRIALS_PG"):  # ours, not a plain user's
        environment.pop(name, None)
    found = subprocess.run([sys.executable, str(script), str(folder / "trials.json")], env=environment, check=True, stdout=subprocess.PIPE)
    result = json.loads(found.stdout.splitlines()[-1])
    trials = result["trials"]
    print(f"plain: {result['wall']:7.1f} s wall for {len(recipes)} trials, {len(result['failed'])} failed")
    mean = {part: sum(trial[part] for trial in trials) / len(trials) for part in trials[0]}
    print("  time a trial:      " + ", ".join(f"{part} {seconds:.1f}" for part, seconds in mean.items())
          + f", together {sum(mean.values()):.1f} s")  # fmt: skip
    waves = -(-len(recipes) // slots) * slots  # a lone last trial leaves a slot idle
    ratio = (result["wall"] / waves) / (wall / (-(-len(state.trials) // slots) * slots))
    print(f"  plain / ours, wall a trial and slot: {ratio:6.2f}     target 3 or more")


if __name__ == "__main__":
    main()
