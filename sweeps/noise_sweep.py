"""`stockpot noise`: replicates of the default setting, by the machinery of any sweep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from corpora.errors import InputError, Problem, StockpotError
from evaluators.results import Results
from sweeps.config import SweepConfig
from sweeps.default_setting import default_setting
from sweeps.ledger_state import LedgerState
from sweeps.noise import Noise, figure_noise
from sweeps.preparation import Say
from sweeps.replicates import replicated
from sweeps.runner import Sweep


def replicates_config(config: SweepConfig, replicates: int) -> SweepConfig:
    """The sweep of one setting under `replicates` seeds: nothing searched, nothing stopped early."""
    if replicates < 2:
        raise InputError(Problem("--replicates", f"at least 2 are needed to differ, found {replicates}"))
    content = config.model_dump(mode="json", by_alias=True)
    search = {"sampler": "grid", "replicates": replicates, "objectives": content["search"]["objectives"]}
    return SweepConfig.model_validate(content | {
        "name": f"{config.name[:190]} noise",
        "recipe": default_setting(config.space).recipe.model_dump(mode="json"),
        "search": search,
        "scheduler": {"kind": "none"},
        "budget": {},
    })  # fmt: skip


def measure_noise(config: SweepConfig, folder: Path, replicates: int, say: Say, resume: bool = False) -> Noise:
    """Runs the replicates in `folder`, and writes noise.json there."""
    asked = replicates_config(config, replicates)
    run = Sweep(asked, folder, say, trials_only=True)
    noise = noise_in(run.run(resume), run.folder, config, [*run.failures.values()])
    noise.write(run.folder)
    return noise


def noise_in(state: LedgerState, folder: Path, config: SweepConfig, failures: Sequence[str] = ()) -> Noise:
    """Of the finished replicates in `folder`; seeded by the search, so the same ledger gives the same noise.

    `failures`: why evaluations failed, to be told where too few replicates have scores.
    """
    found = replicated(state)
    if not found:
        reasons = "; ".join(dict.fromkeys([*(trial.reason for trial in state.trials.values() if trial.reason), *failures]))
        raise StockpotError(f"fewer than two replicates were scored{f' ({reasons})' if reasons else ''}: "
                            "`stockpot status` says how each ended, --resume tries again")  # fmt: skip
    setting = found[0]
    files = [trial.checkpoints[setting.step].scores["dev"].per_query for trial in setting.trials]
    results = [Results.from_parquet(folder / str(name)) for name in files]
    figures = figure_noise(results, np.random.default_rng(config.search.seed))
    recipe = {name: value for name, value in setting.trials[0].params.items() if name != "seed"}
    data = state.sweep["attributes"]["data"]["dev"]
    return Noise(config.name, recipe, setting.step, len(results), data, config.evaluation.chunking, figures)
