"""A sweep from its first event to its last: prepare, train under Ray Tune, evaluate, log.

The driver is the ledger's single writer, under a lease. A killed driver loses nothing: the
next one folds the ledger, hands the unfinished trials out again (they replay the reports
that lie on disk) and evaluates what has no scores yet.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from corpora.errors import InputError, Problem, StockpotError
from corpora.files import sha256_of, write_atomically
from sweeps.code_hash import code_hash
from sweeps.conductor import Conductor
from sweeps.config import SweepConfig
from sweeps.constraints import UNTRAINED, need_untrained
from sweeps.evaluations import SCORES, Job, Outcome
from sweeps.extending import check_same
from sweeps.interruptible import interruptible, reason_of
from sweeps.leased import leased
from sweeps.ledger import Ledger
from sweeps.ledger_state import LedgerState, Trial
from sweeps.mlflow_store import check_login
from sweeps.notify import notified, url_of
from sweeps.preparation import Preparation, Say, prepare_sweep
from sweeps.ray_cluster import ray_cluster, trial_bundle
from sweeps.search import Searcher
from sweeps.snapshot import Follower
from sweeps.soup.ship import Kitchen
from sweeps.stopping import ASKED, stoppable
from sweeps.stored import stored
from sweeps.summary import ranked
from sweeps.sweep_folder import check_unused
from sweeps.warm_start import check_sources, earlier_trials
from trainables import exploits
from trainables.base import encoder_folder
from trainables.encoders import BM25, CHECKPOINT, ISOLATED

BASELINES = {UNTRAINED: CHECKPOINT, "isolated sentences": ISOLATED, "BM25": BM25}
"""Rows to beat: base+ as it is, its pretrained encoder with all layers over sentences alone, and words."""


class Sweep:
    """One driver's run of the sweep in `folder`, which holds everything the sweep makes."""

    def __init__(
        self, config: SweepConfig, folder: Path, say: Say, clock: Callable[[], float] = time.time, trials_only: bool = False,
    ):
        """`trials_only`: neither baselines nor a soup, for sweeps that measure something else (`stockpot noise`)."""
        self.config, self.folder, self.say, self.clock = config, Path(folder).absolute(), say, clock
        self.trials_only = trials_only
        self.reason = ""
        """Why it ended before all its trials were proposed, if it did."""
        self.failures: dict[Any, str] = {}
        """Evaluations that failed, by what they were of."""
        self.places: dict[str, Any] = {}
        """Where MLflow holds the sweep, once it has run (`Projector.places`)."""

    def run(self, resume: bool = False, allow_changed_code: bool = False) -> LedgerState:
        """Trains and evaluates everything; returns the ledger's state."""
        self._check_folder(resume)
        url_of(self.config.notify)  # says so where it is not set, before anything starts
        check_sources(self.config, self.folder)
        check_login(self.config.mlflow.uri, self.say)
        with (
            leased(self.folder, self.clock, self.say if resume else None), interruptible(), stoppable(self.folder, self.say) as self.stop,
            stored(self.folder, self.config.storage, resume, self.clock, self.say) as self.mirror,
        ):  # fmt: skip
            extends = self._has_ledger() and check_same(Follower(self.folder).standing().sweep["config"], self.config)
            preparation = prepare_sweep(self.config, self.folder, self.say)
            if self.mirror:
                self.mirror.keep(preparation.places)
            self.ledger = self._open_ledger(preparation, allow_changed_code, extends)
            with self._projected(), notified(self.folder, self.config.notify, self.say), self._closed():
                self._train_and_evaluate(preparation)
                if not self.trials_only:
                    self._soup()
        return self.ledger.state()

    def prepare(self) -> Preparation:
        """Only what all trials share, made or found: a sweep in this folder then starts at once."""
        self._check_folder(resume=True)
        with leased(self.folder, self.clock), interruptible():
            return prepare_sweep(self.config, self.folder, self.say)

    def _has_ledger(self) -> bool:
        """A driver that was killed while it prepared left none: the sweep begins anew, on what lies in store/."""
        return (self.folder / "ledger" / "events").is_dir()

    def _check_folder(self, resume: bool) -> None:
        if self._has_ledger() and not resume:
            raise InputError(Problem(str(self.folder), "holds a sweep already: go on with it by --resume, or give another --out"))
        check_unused(self.folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self.folder / ".writable", b"")
            (self.folder / ".writable").unlink()
        except OSError as error:
            raise InputError(Problem(str(self.folder), f"cannot be written to ({error.strerror}): give another --out")) from None

    def _open_ledger(self, preparation: Preparation, allow_changed_code: bool, extends: bool) -> Ledger:
        attributes = {"config": self.config.sha256, "code": code_hash(self.config.trainer), "data": preparation.hashes}
        if not self._has_ledger():
            content = self._content()
            write_atomically(self.folder / "sweep.json", json.dumps(content, indent=1, ensure_ascii=False))
            sweep = {
                "sweep_id": uuid.uuid4().hex[:12], "name": self.config.name, "config": content, "attributes": attributes,
                "places": self._places_of(preparation), "planned": Searcher(self.config).trials,
            }  # fmt: skip
            return Ledger.create(self.folder, sweep, self.clock())
        ledger = Ledger.open(self.folder, write=True)
        _same(ledger.state().sweep["attributes"], attributes, allow_changed_code)
        larger = {"config": self._content(), "planned": Searcher(self.config).trials} if extends else {}
        ledger.append("resumed", {"attributes": attributes, **larger}, self.clock())
        return ledger

    def _content(self) -> dict[str, Any]:
        return self.config.model_dump(mode="json", by_alias=True)

    def _places_of(self, preparation: Preparation) -> dict[str, Any]:
        """Where base+ and the splits lie, from the sweep's folder where they are inside it: the folder may move."""
        def shown(place: Path) -> str:
            return str(place.relative_to(self.folder)) if place.is_relative_to(self.folder) else str(place)

        splits = {split: [shown(place) for place in places] for split, places in preparation.splits.items()}
        return {"base": shown(preparation.base), "inline": shown(preparation.inline), "splits": splits}

    def _append(self, kind: str, payload: dict[str, Any]) -> None:
        self.ledger.append(kind, payload, self.clock())

    @contextlib.contextmanager
    def _closed(self) -> Iterator[None]:
        """The ledger's last event says how it ended, while MLflow still follows."""
        try:
            yield
        except BaseException as error:
            interrupted = isinstance(error, KeyboardInterrupt)
            reason = ASKED if self.stop.asked else reason_of(error) if interrupted else str(error)[:500]
            self._append("closed", {"status": "interrupted" if interrupted else "failed", "reason": reason})
            raise
        self._append("closed", {"status": "finished", "reason": self.reason})

    @contextlib.contextmanager
    def _projected(self) -> Iterator[None]:
        """MLflow follows the ledger from a thread of its own; what it misses is left to `stockpot sync`."""
        from sweeps.projector import BackgroundProjector

        projector = BackgroundProjector(self.folder, self.config.mlflow.uri, self.config.mlflow.experiment, warn=self.say)
        try:
            yield
        finally:
            self.say("bringing MLflow up to date")
            left = projector.close()
            self.places = left.places
            if left.pending:
                self.say(f"MLflow lacks {len(left.pending)} pages ({left.error}): `stockpot sync {self.folder}` sends them")

    def _soup(self) -> None:
        if not any("dev" in c.scores for t in self.ledger.state().trials.values() for c in t.checkpoints.values()):
            self.say("no checkpoint was evaluated: there is nothing to make a soup of")
            return
        if self.config.search.constraints and not ranked(self.ledger.state()):
            self.say("every checkpoint breaks a constraint of `search.constraints`: nothing ships")
            return
        Kitchen(self.folder, self.ledger, self.clock, self.say, threads=os.cpu_count() or 1).ship()

    def _train_and_evaluate(self, preparation: Preparation) -> None:
        with ray_cluster(self.config):
            from sweeps.evaluation_pool import EvaluationPool

            pool = EvaluationPool(self._scored, self.config.resources, self.mirror)
            for ordinal, trial in self.ledger.state().trials.items():
                for step, checkpoint in trial.checkpoints.items():
                    if "dev" not in checkpoint.scores and not checkpoint.removed:
                        pool.submit((ordinal, step), self._checkpoint_job(ordinal, step, preparation))
            if need_untrained(self.config.search.constraints):
                self._evaluate_first(UNTRAINED, preparation, pool)
            earlier = earlier_trials(self.config, self.folder, preparation.hashes, self.say)
            conductor = Conductor(self.config, self.ledger, self.clock, earlier, self._instruct)
            with self.stop.at_checkpoints():
                self._tune(conductor, preparation, pool)
            if conductor.reason:
                self.reason = conductor.reason
                self.say(f"no further trials: {conductor.reason}")
            for name in () if self.trials_only else BASELINES:
                self._submit_baseline(name, preparation, pool)
            self.say(f"{len(pool)} evaluations to go")
            while len(pool):
                pool.collect(timeout=1)
            self.failures = pool.failures

    def _submit_baseline(self, name: str, preparation: Preparation, pool: Any) -> None:
        if (name, "dev") not in self.ledger.state().baselines:
            pool.submit(name, self._baseline_job(name, BASELINES[name], preparation))

    def _evaluate_first(self, name: str, preparation: Preparation, pool: Any) -> None:
        """A baseline that constraints are held against: known before the first proposal, whatever the timing."""
        self.say(f"evaluating the {name} first: search.constraints name it")
        self._submit_baseline(name, preparation, pool)
        while (name, "dev") not in self.ledger.state().baselines and name not in pool.failures:
            pool.collect(timeout=1)
        if name in pool.failures:
            raise StockpotError(f"the {name}, which search.constraints name, could not be evaluated: {pool.failures[name]}")

    def _tune(self, conductor: Conductor, preparation: Preparation, pool: Any) -> None:
        from ray.tune import (
            CheckpointConfig,
            FailureConfig,
            PlacementGroupFactory,
            RunConfig,
            TuneConfig,
            Tuner,
            with_resources,
        )
        from ray.tune.error import TuneError

        from sweeps.tune_adapter import ConductedScheduler, ConductedSearch
        from trainables.tune_trial import TuneTrial

        def job_of(trial: Trial) -> dict[str, Any]:
            places = {"data": preparation.data, "base": preparation.base, "inline": preparation.inline, "folder": self._trial_folder(trial.ordinal)}
            chunking = self.config.evaluation.chunking
            return {
                "ordinal": trial.ordinal, "trainer": self.config.trainer, "recipe": trial.params, "chunking": chunking,
                "trust_remote_code": self.config.student.trust_remote_code,
                "storage": (str(self.folder), self.mirror.uri) if self.mirror else None,
                "perturb_every": self.config.scheduler.perturb_every, "processes": self.config.resources.processes,
                **{name: str(place) for name, place in places.items()},
            }  # fmt: skip

        def on_report(ordinal: int, result: dict[str, Any]) -> None:
            step = self._record(conductor, ordinal, Path(result["report"]))
            if "dev" not in conductor.trials[ordinal].checkpoints[step].scores:
                pool.submit((ordinal, step), self._checkpoint_job(ordinal, step, preparation))

        def on_turn() -> None:
            conductor.stopping = self.stop.asked
            pool.collect()
            conductor.unscored = {key[0] for key in pool.failures if not isinstance(key, str)}

        resources = self.config.resources
        bundle, labels = trial_bundle(resources)
        where = {"bundle_label_selector": [labels]} if labels else {}
        scheduler = ConductedScheduler(conductor, on_report, on_turn)
        with tempfile.TemporaryDirectory(prefix="stockpot-tune-") as scratch:  # Tune's own files: the ledger needs none of them
            tuner = Tuner(
                with_resources(TuneTrial, PlacementGroupFactory([bundle], **where)),
                tune_config=TuneConfig(
                    search_alg=ConductedSearch(conductor, job_of, on_turn, scheduler.make_room),
                    scheduler=scheduler,
                    num_samples=-1,
                    reuse_actors=True,
                ),
                run_config=RunConfig(
                    storage_path=scratch,
                    name="tune",
                    verbose=0,
                    failure_config=FailureConfig(max_failures=resources.max_failures),
                    checkpoint_config=CheckpointConfig(checkpoint_frequency=0, checkpoint_at_end=False),
                ),
            )
            try:
                tuner.fit()
            except TuneError as error:  # what went wrong in the driver's own loop, as a traceback in text
                raise StockpotError(f"the sweep's loop ended: {str(error).strip().splitlines()[-1]}") from error

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
        sha256 = sha256_of(folder / "model.safetensors")
        conductor.reported([
            ("report", {"ordinal": ordinal, "step": step, "metrics": report["metrics"], "seconds": report["seconds"], "system": report.get("system")}),
            ("checkpoint", {"ordinal": ordinal, "step": step, "folder": str(folder.relative_to(self.folder)), "sha256": sha256}),
        ])
        return step

    def _scored(self, key: Any, outcome: Outcome) -> None:
        figures = {f"dev/{name}": value for name, value in outcome.figures.items()}
        what = {"split": "dev", "figures": figures, "per_query": str(outcome.per_query.relative_to(self.folder)), "seconds": outcome.seconds}
        if isinstance(key, str):
            self._append("baseline", {"name": key, **what})
        else:
            self._append("scores", {"ordinal": key[0], "step": key[1], **what})

    def _trial_folder(self, ordinal: int) -> Path:
        return self.folder / "trials" / self.ledger.state().trials[ordinal].trial_id

    def _checkpoint_job(self, ordinal: int, step: int, preparation: Preparation) -> Job:
        folder = self.folder / self.ledger.state().trials[ordinal].checkpoints[step].folder
        return self._job(CHECKPOINT, folder, f"trial-{ordinal:04d}-step-{step:06d}", preparation)

    def _baseline_job(self, name: str, kind: str, preparation: Preparation) -> Job:
        pretrained = encoder_folder(self.config.student.encoder)
        model = {CHECKPOINT: preparation.base, ISOLATED: pretrained, BM25: Path("-")}[kind]
        return self._job(kind, model, f"baseline-{kind}", preparation)

    def _job(self, kind: str, model: Path, name: str, preparation: Preparation) -> Job:
        return Job(
            kind=kind,
            model=str(model),
            tokenizer=str(preparation.base),
            corpora=tuple(map(str, preparation.splits["dev"])),
            result=str(self.folder / SCORES / f"dev-{name}.parquet"),
            evaluation=self.config.evaluation,
            suites=self.config.evaluation.suites,
            keep_similarities=kind == CHECKPOINT,
            trust_remote_code=self.config.student.trust_remote_code,
        )


def _same(recorded: dict[str, Any], now: dict[str, Any], allow_changed_code: bool) -> None:
    """A sweep goes on with the data it began with, and with its code unless told otherwise."""
    problems = []
    parts = [name for name in dict.fromkeys((*recorded["data"], *now["data"])) if recorded["data"].get(name) != now["data"].get(name)]
    if parts:
        problems.append(Problem("--resume: data", f"{', '.join(parts)} differs from what the sweep began with: restore the corpora, or "
                                "start a new sweep"))  # fmt: skip
    if recorded["code"] != now["code"] and not allow_changed_code:
        problems.append(Problem("--resume: code", "differs from what the sweep began with: pass --allow-changed-code if the change "
                                "cannot alter what a trial computes"))  # fmt: skip
    if problems:
        raise InputError(problems)
