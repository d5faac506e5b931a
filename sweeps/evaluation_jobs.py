"""Which evaluations a sweep needs: its checkpoints on dev, and the rows to beat."""

from __future__ import annotations

from pathlib import Path

from sweeps.config import SweepConfig
from sweeps.evaluations import SCORES, Job
from sweeps.ledger_state import UNTRAINED, Trial
from sweeps.preparation import Preparation
from trainables.base import encoder_folder
from trainables.encoders import BM25, CHECKPOINT, ISOLATED

BASELINES = {UNTRAINED: CHECKPOINT, "isolated sentences": ISOLATED, "BM25": BM25}
"""Rows to beat: base+ as it is, its pretrained encoder with all layers over sentences alone, and words."""


class EvaluationJobs:
    """Of the sweep in `folder`."""

    def __init__(self, config: SweepConfig, folder: Path, preparation: Preparation):
        self._config, self._folder, self._preparation = config, folder, preparation

    def of_checkpoint(self, trial: Trial, step: int) -> Job:
        folder = self._folder / trial.checkpoints[step].folder
        return self._job(CHECKPOINT, folder, f"trial-{trial.ordinal:04d}-step-{step:06d}")

    def of_baseline(self, name: str) -> Job:
        kind, pretrained = BASELINES[name], encoder_folder(self._config.student.encoder)
        model = {CHECKPOINT: self._preparation.base, ISOLATED: pretrained, BM25: Path("-")}[kind]
        return self._job(kind, model, f"baseline-{kind}")

    def _job(self, kind: str, model: Path, name: str) -> Job:
        return Job(
            kind=kind,
            model=str(model),
            tokenizer=str(self._preparation.base),
            corpora=tuple(map(str, self._preparation.splits["dev"])),
            result=str(self._folder / SCORES / f"dev-{name}.parquet"),
            evaluation=self._config.evaluation,
            suites=self._config.evaluation.suites,
            keep_similarities=kind == CHECKPOINT,
            trust_remote_code=self._config.student.trust_remote_code,
        )
