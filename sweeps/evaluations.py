"""Full evaluations: one job an encoder and a split, each a task of its own, idempotent.

A job knows where its result lies; a result that is there is not worked out again. The
same job runs as a Ray task during a sweep and plainly afterwards (soup, backfill).
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora import native
from corpora.files import write_atomically
from sweeps.config import Evaluation
from trainables.encoders import encoder_of


@dataclass(frozen=True)
class Job:
    """`kind` and `model`: of `trainables.encoders.encoder_of`.

    `tokenizer` is the student's folder: it counts `tokens:N` for every encoder alike.
    `result` is the parquet of per-query values; the figures lie beside it as JSON, and what a
    soup's proxy needs as .npz where `keep_similarities` asks for it.
    """

    kind: str
    model: str
    tokenizer: str
    corpora: tuple[str, ...]
    result: str
    evaluation: Evaluation
    suites: tuple[str, ...]
    keep_similarities: bool = False
    threads: int = 1


@dataclass(frozen=True)
class Outcome:
    figures: dict[str, float]
    per_query: Path
    seconds: float


def run_job(job: Job) -> Outcome:
    """The figures of `job`, from disk where they are there already."""
    per_query = Path(job.result)
    summary = per_query.with_suffix(".json")
    if not summary.exists():
        begun = time.monotonic()
        results = _evaluate(job, per_query.with_suffix(".npz"))
        results.to_parquet(per_query)
        content = {"figures": results.figures(), "seconds": time.monotonic() - begun}
        write_atomically(summary, json.dumps(content, sort_keys=True))
    content = json.loads(summary.read_text())
    return Outcome(content["figures"], per_query, content["seconds"])


def _evaluate(job: Job, similarities: Path) -> Any:
    import torch

    from corpora.tokens import Tokenizer
    from evaluators.evaluate import evaluate
    from sweeps.soup.similarities import Recording

    torch.set_num_threads(job.threads)
    tasks, axes, encoder = tasks_of(job.corpora), job.evaluation, encoder_of(job.kind, job.model)
    recording = Recording(encoder, axes.chunking) if job.keep_similarities else encoder
    full = getattr(encoder, "dimension", 0)
    results = evaluate(
        recording,
        tasks,
        suites=job.suites,
        dimensions=(full, *(cut for cut in axes.dimensions if cut < full)),
        precisions=axes.precisions,
        ks=axes.k,
        chunking=axes.chunking,
        chunk_sizes=axes.chunk_sizes,
        tokenizer=Tokenizer.from_folder(Path(job.tokenizer)),
    )
    if job.keep_similarities:
        recording.save([task.corpus for task in tasks], similarities)
    return results


def tasks_of(folders: tuple[str, ...]) -> list[Any]:
    """One task a corpus."""
    from evaluators.tasks import Task

    return [Task.of(native.read(Path(folder))) for folder in folders]
