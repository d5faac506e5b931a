"""Results in the JSON form of the mteb library: one file a task and suite, read by its `TaskResult.from_disk`.

mteb's task has one main score, so each of our suites on a task is a task there, `{task}-{suite}`; the sizes of
chunk-size and the settings of storage are its subsets. The dataset's revision is the corpus's SHA-256. `mteb_version`
is null: mteb did not measure this.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from corpora.files import write_atomically
from evaluators.results import Results, split_figure
from evaluators.trec import file_stem

MAIN = ("nDCG@10", "Answer@10", "SpanHit@10")
"""The first of these that a suite has is its main score; else its first metric."""
LANGUAGE = "und-Zyyy"
"""Undetermined in language (ISO 639) and script (ISO 15924): mteb averages over languages, so there must be one."""
SPLIT = "test"
"""mteb's name for what is evaluated, where the task names no split of its own."""


def write_mteb(folder: Path, results: Results) -> list[Path]:
    """Writes a file per task and suite; scores are full-precision means over the task's queries."""
    written = []
    for task in results.tasks.itertuples():
        frame = results.per_query[results.per_query.task == task.task]
        if frame.empty:
            continue
        for suite, subsets in _subsets(replace(results, per_query=frame)).items():
            path = Path(folder) / f"{file_stem(task.task, suite)}.json"
            content = {
                "dataset_revision": task.corpus_sha256, "task_name": f"{task.task}-{suite}", "mteb_version": None,
                "scores": {task.split or SPLIT: [
                    {**scores, "main_score": _main(scores), "hf_subset": subset, "languages": [LANGUAGE]}
                    for subset, scores in subsets.items()]},
                "evaluation_time": None, "kg_co2_emissions": None, "date": None, "evaluation_phases": None,
            }  # fmt: skip
            write_atomically(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
            written.append(path)
    return written


def mteb_name(metric: str) -> str:
    """`nDCG@10` -> `ndcg_at_10`, as mteb spells it."""
    return metric.replace("@", "_at_").lower()


def _subsets(results: Results) -> dict[str, dict[str, dict[str, float]]]:
    """suite -> subset -> metric in mteb's spelling -> value."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, value in results.figures().items():
        suite, metric, axes = split_figure(name)
        found.setdefault(suite, {}).setdefault(axes or "default", {})[mteb_name(metric)] = value
    return found


def _main(scores: dict[str, float]) -> float:
    return next((scores[name] for name in map(mteb_name, MAIN) if name in scores), next(iter(scores.values())))
