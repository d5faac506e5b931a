"""Full evaluations: one job an encoder and a split, each a task of its own, idempotent.

A job knows where its result lies; a result that is there is not worked out again. The
same job runs as a Ray task during a sweep and plainly afterwards (soup, backfill).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora import native
from corpora.errors import InputError, Problem
from corpora.files import write_atomically
from evaluators.results import Results
from evaluators.suite_file import SuiteFile
from evaluators.suites.needle import NeedlePlan
from evaluators.tasks import Task
from sweeps.config import Evaluation
from sweeps.opening import open_test, refuse_test, split_folders

SCORES = "ledger/scores"
"""Where results lie, from the sweep's folder."""


@dataclass(frozen=True)
class Job:
    """`kind` and `model`: of `trainables.encoders.encoder_of`.

    `suite`: a suite file, whose settings hold then, and its tasks where it names some, instead of
    `evaluation`, `suites` and `corpora`.
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
    trust_remote_code: bool = False  # the student's
    suite: SuiteFile | None = None


@dataclass(frozen=True)
class Outcome:
    figures: dict[str, float]
    per_query: Path
    seconds: float


def run_job(job: Job, tasks: Sequence[Task] | None = None) -> Outcome:
    """The figures of `job`, from disk where they are there already. `tasks`: the job's, where they are read already."""
    from trainables.loading import trusting

    per_query = Path(job.result)
    summary = per_query.with_suffix(".json")
    if not summary.exists():
        begun = time.monotonic()
        with trusting(job.trust_remote_code):
            results = _evaluate(job, tasks or tasks_of(job), per_query.with_suffix(".npz"))
        results.to_parquet(per_query)
        content = {"figures": results.figures(), "seconds": time.monotonic() - begun}
        write_atomically(summary, json.dumps(content, sort_keys=True))
    content = json.loads(summary.read_text())
    return Outcome(content["figures"], per_query, content["seconds"])


def tasks_of(job: Job) -> list[Task]:
    """What the job is measured on: one task a corpus, or those of its suite file."""
    if job.suite is not None and job.suite.tasks:
        return job.suite.read_tasks(refuse_test)
    return corpora_tasks(job.corpora)


def corpora_tasks(folders: Sequence[str]) -> list[Task]:
    """One task a corpus."""
    return [Task.of(native.read(Path(folder))) for folder in folders]


def open_tasks(
    corpora: Sequence[Path], suite: SuiteFile | None, sweep: Path | None, opened_by: str | None,
    clock: Callable[[], float] = time.time,
) -> list[Task]:
    """What `stockpot evaluate` measures on: a sweep's dev split, or its test split for `opened_by`, who is recorded; the
    corpora; or the suite file's tasks. Test splits are refused everywhere else."""
    if sweep is not None:
        corpora = open_test(sweep, opened_by, clock) if opened_by else split_folders(sweep, "dev")
    elif corpora:
        for corpus in corpora:
            refuse_test(corpus)
    elif suite is not None and suite.tasks:
        return suite.read_tasks(refuse_test)
    else:
        raise InputError(Problem("--corpus", "name what to evaluate on: --corpus DIR, --sweep SWEEP_DIR, or a suite file with tasks"))
    return [Task.of(native.read(folder), name) for folder, name in zip(corpora, _names(corpora), strict=True)]


def _names(folders: Sequence[Path]) -> list[str]:
    """Task names: the folders' own, longer where two are alike; the same folder is no second task."""
    places = [Path(folder).resolve() for folder in folders]
    twice = [place for number, place in enumerate(places) if place in places[:number]]
    if twice:
        raise InputError(Problem("--corpus", f"names {twice[0]} twice"))
    parts = [place.parts for place in places]
    length = 1
    while len({part[-length:] for part in parts}) < len(parts) and length < max(map(len, parts)):
        length += 1
    return ["-".join(part[-length:]) for part in parts]


def _evaluate(job: Job, tasks: Sequence[Task], similarities: Path) -> Results:
    import torch

    from corpora.tokens import Tokenizer
    from evaluators.evaluate import evaluate
    from sweeps.soup.similarities import Recording
    from trainables.encoders import encoder_of

    torch.set_num_threads(job.threads)
    encoder = encoder_of(job.kind, job.model)
    recording = Recording(encoder, job.evaluation.chunking) if job.keep_similarities else encoder
    settings = _settings(job)
    full = getattr(encoder, "dimension", 0)
    settings["dimensions"] = (full, *(cut for cut in settings["dimensions"] or () if cut < full))
    results = evaluate(recording, tasks, **settings, tokenizer=Tokenizer.from_folder(Path(job.tokenizer)))
    if job.keep_similarities:
        recording.save([task.corpus for task in tasks], similarities)
    return results


def _settings(job: Job) -> dict[str, Any]:
    """The keywords of `evaluate`."""
    if job.suite is not None:
        return job.suite.settings()
    axes = job.evaluation
    return {
        "suites": job.suites, "dimensions": axes.dimensions, "precisions": axes.precisions, "ks": axes.k,
        "chunking": axes.chunking, "chunk_sizes": axes.chunk_sizes, "needle": NeedlePlan(lengths=axes.needle_lengths or None),
    }  # fmt: skip
