"""A sweep's trials and evaluations, from the first to the last: trained under Tune, evaluated beside it, all in the ledger."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import StockpotError
from corpora.files import sha256_of
from corpora.mirror import Mirror
from sweeps.conductor import Conductor
from sweeps.config import SweepConfig
from sweeps.constraints import need_untrained
from sweeps.evaluation_jobs import EvaluationJobs
from sweeps.evaluations import Outcome
from sweeps.ledger import Ledger
from sweeps.ledger_state import UNTRAINED, Trial
from sweeps.preparation import Preparation, Say
from sweeps.ray_cluster import ray_cluster
from sweeps.stopping import Stop
from sweeps.tuning import tune
from sweeps.warm_start import earlier_trials
from trainables import exploits

if TYPE_CHECKING:
    from sweeps.evaluation_pool import EvaluationPool


class Training:
    """Of the sweep in `folder`; `mirror`: of the folder, where machines share no disk."""

    def __init__(
        self,
        config: SweepConfig,
        folder: Path,
        ledger: Ledger,
        preparation: Preparation,
        clock: Callable[[], float],
        say: Say,
        mirror: Mirror | None,
    ):
        self.config, self.folder, self.ledger, self.preparation = config, folder, ledger, preparation
        self.clock, self.say, self.mirror = clock, say, mirror
        self._jobs = EvaluationJobs(config, folder, preparation)

    def run(self, stop: Stop, baselines: Iterable[str]) -> tuple[str, dict[Any, str]]:
        """Why no further trials were proposed, if a budget ended them, and the evaluations that failed, by what they were of."""
        with ray_cluster(self.config):
            from sweeps.evaluation_pool import EvaluationPool

            pool = EvaluationPool(self._scored, self.config.resources, self.mirror)
            for trial in self.ledger.state().trials.values():
                for step, checkpoint in trial.checkpoints.items():
                    if "dev" not in checkpoint.scores and not checkpoint.removed:
                        pool.submit((trial.ordinal, step), self._jobs.of_checkpoint(trial, step))
            if need_untrained(self.config.search.constraints):
                self._evaluate_first(UNTRAINED, pool)
            earlier = earlier_trials(self.config, self.folder, self.preparation.hashes, self.say)
            conductor = Conductor(self.config, self.ledger, self.clock, earlier, self._instruct)
            with stop.at_checkpoints():
                self._tune(conductor, pool, stop)
            if conductor.reason:
                self.say(f"no further trials: {conductor.reason}")
            for name in baselines:
                self._submit_baseline(name, pool)
            self.say(f"{len(pool)} evaluations to go")
            while len(pool):
                pool.collect(timeout=1)
            return conductor.reason, pool.failures

    def _submit_baseline(self, name: str, pool: EvaluationPool) -> None:
        if (name, "dev") not in self.ledger.state().baselines:
            pool.submit(name, self._jobs.of_baseline(name))

    def _evaluate_first(self, name: str, pool: EvaluationPool) -> None:
        """A baseline that constraints are held against: known before the first proposal, whatever the timing."""
        self.say(f"evaluating the {name} first: search.constraints name it")
        self._submit_baseline(name, pool)
        while (name, "dev") not in self.ledger.state().baselines and name not in pool.failures:
            pool.collect(timeout=1)
        if name in pool.failures:
            raise StockpotError(
                f"the {name}, which search.constraints name, could not be evaluated: {pool.failures[name]}"
            )

    def _tune(self, conductor: Conductor, pool: EvaluationPool, stop: Stop) -> None:
        def on_report(ordinal: int, result: dict[str, Any]) -> None:
            step, trial = self._record(conductor, ordinal, Path(result["report"])), conductor.trials[ordinal]
            if "dev" not in trial.checkpoints[step].scores:
                pool.submit((ordinal, step), self._jobs.of_checkpoint(trial, step))

        def on_turn() -> None:
            conductor.stopping = stop.asked
            pool.collect()
            conductor.unscored = {key[0] for key in pool.failures if not isinstance(key, str)}

        tune(conductor, self._job_of, on_report, on_turn)

    def _job_of(self, trial: Trial) -> dict[str, Any]:
        """What a trial is started with."""
        config, preparation = self.config, self.preparation
        return {
            "ordinal": trial.ordinal,
            "trainer": config.trainer,
            "recipe": trial.params,
            "chunking": config.evaluation.chunking,
            "trust_remote_code": config.student.trust_remote_code,
            "storage": (str(self.folder), self.mirror.uri) if self.mirror else None,
            "perturb_every": config.scheduler.perturb_every,
            "processes": config.resources.processes,
            "data": str(preparation.data),
            "base": str(preparation.base),
            "inline": str(preparation.inline),
            "folder": str(self._trial_folder(trial.ordinal)),
        }

    def _instruct(self, trial: Trial) -> None:
        """Tells the trial what it takes over from others, as the ledger has it."""
        for step, taken in trial.exploits.items():
            donor = {"trial_id": self._trial_folder(taken.donor["ordinal"]).name, **taken.donor}
            path = exploits.write(self._trial_folder(trial.ordinal), step, taken.params, donor)
            if self.mirror:
                self.mirror.keep([path])

    def _record(self, conductor: Conductor, ordinal: int, path: Path) -> int:
        """Writes a trial's report and its checkpoint into the ledger; returns the step."""
        if self.mirror:
            self.mirror.have([path])
        report = json.loads(path.read_text())
        step, folder = report["step"], self._trial_folder(ordinal) / report["checkpoint"]
        if self.mirror:
            self.mirror.have([folder])
        said = {"metrics": report["metrics"], "seconds": report["seconds"], "system": report.get("system")}
        place, sha256 = str(folder.relative_to(self.folder)), sha256_of(folder / "model.safetensors")
        conductor.reported([
            ("report", {"ordinal": ordinal, "step": step, **said}),
            ("checkpoint", {"ordinal": ordinal, "step": step, "folder": place, "sha256": sha256}),
        ])  # fmt: skip
        return step

    def _scored(self, key: Any, outcome: Outcome) -> None:
        per_query = str(outcome.per_query.relative_to(self.folder))
        figures = {f"dev/{name}": value for name, value in outcome.figures.items()}
        what = {"split": "dev", "figures": figures, "per_query": per_query, "seconds": outcome.seconds}
        if isinstance(key, str):
            self.ledger.append("baseline", {"name": key, **what}, self.clock())
        else:
            self.ledger.append("scores", {"ordinal": key[0], "step": key[1], **what}, self.clock())

    def _trial_folder(self, ordinal: int) -> Path:
        return self.folder / "trials" / self.ledger.state().trials[ordinal].trial_id
