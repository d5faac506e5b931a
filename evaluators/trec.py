"""Run and qrels files of trec_eval, written and read; and trec_eval's measures of a run.

Ids have white space and % percent-encoded, scores nine digits, which give a float32 back exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from corpora.chunks import trec_id
from corpora.errors import InputError, Problem
from corpora.files import write_atomically
from evaluators.judgments import Judgments
from evaluators.metrics import (
    Metric,
    average_precision,
    ideal,
    ndcg,
    precision,
    recall,
    reciprocal_rank,
)
from evaluators.ranking import Index, Ranking, packed, places
from evaluators.views import View

Run = Mapping[str, Mapping[str, float]]
"""Query -> result -> score."""
Qrels = Mapping[str, Mapping[str, int]]
"""Query -> judged id -> grade."""


def write_run(path: Path, queries: Sequence[str], ids: Sequence[str], ranking: Ranking, tag: str) -> None:
    """`queries` as the corpus spells them, `ids` encoded, by position."""
    lines = []
    for query, position, score in zip(queries, ranking.position.tolist(), ranking.score.tolist(), strict=True):
        name = trec_id(query)
        lines += [f"{name} Q0 {ids[place]} {rank} {value:.9g} {trec_id(tag)}\n"
                  for rank, (place, value) in enumerate(zip(position, score, strict=True), 1) if place >= 0]
    write_atomically(path, "".join(lines))


def write_qrels(path: Path, rows: Iterable[tuple[str, str, int]]) -> None:
    """`rows`: query (as the corpus spells it), encoded id, grade."""
    write_atomically(path, "".join(f"{trec_id(query)} 0 {identifier} {grade}\n" for query, identifier, grade in rows))


def write_gold(folder: Path, task: str, chunking: str, index: Index, judgments: Judgments) -> None:
    """Qrels of one task under one chunking: of its chunks and of its documents; and which id stands for which."""
    names = [query.id for query in judgments.corpus.queries]
    stem = file_stem(task, chunking)
    write_qrels(folder / f"{stem}.chunks.qrels", (
        (name, index.chunk_ids[place], 1)
        for name, found in zip(names, judgments.relevant, strict=True) for place in found.tolist()))
    write_qrels(folder / f"{stem}.documents.qrels", (
        (name, index.document_ids[place], grade)
        for name, found in zip(names, judgments.grades, strict=True) for place, grade in sorted(found.items())))
    originals = dict.fromkeys([*names, *index.table.document_ids])
    write_atomically(folder / f"{stem}.ids.tsv", "".join(
        f"{trec_id(each)}\t{each!r}\n" for each in originals if trec_id(each) != each))


def write_view(
    folder: Path, task: str, chunking: str, dimension: int, precision: str, tag: str, index: Index, view: View,
) -> None:
    """Runs of one view: over chunks and over documents."""
    names = [query.id for query in view.judgments.corpus.queries]
    write_run(run_path(folder, task, chunking, dimension, precision, "chunks"), names, index.chunk_ids, view.chunks, tag)
    write_run(run_path(folder, task, chunking, dimension, precision, "documents"), names, index.document_ids,
              view.documents, tag)


def run_path(folder: Path, task: str, chunking: str, dimension: int, precision: str, of: str) -> Path:
    """Where `write_view` puts the run over `of`: chunks or documents."""
    return folder / f"{file_stem(task, chunking)}.d{dimension}.{precision}.{of}.run"


def read_run(path: Path) -> dict[str, dict[str, float]]:
    """Query -> result -> score; a result that stands twice for one query is refused."""
    found: dict[str, dict[str, float]] = {}
    problems = []
    for where, parts in _fields(path, 6, problems):
        if parts[2] in found.setdefault(parts[0], {}):
            problems.append(Problem(where, f"{parts[2]!r} stands twice for query {parts[0]!r}: keep one"))
        found[parts[0]][parts[2]] = _number(parts[4], float, where, problems)
    if problems:
        raise InputError(problems)
    return found


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    problems = []
    for where, parts in _fields(path, 4, problems):
        found.setdefault(parts[0], {})[parts[2]] = _number(parts[3], int, where, problems)
    if problems:
        raise InputError(problems)
    return found


def measure(run: Run, qrels: Qrels, metrics: Sequence[str]) -> dict[str, dict[str, float]]:
    """trec_eval's measures per judged query: nDCG@k, nDCG, AP, RR, P@k, R@k. A query without results counts 0."""
    queries = list(qrels)
    lists = [ranked(run.get(query, {})) for query in queries]
    depth = max((len(found) for found in lists), default=0)
    gains = np.zeros((len(queries), depth), np.int64)
    for row, (query, found) in enumerate(zip(queries, lists, strict=True)):
        gains[row, :len(found)] = [qrels[query].get(each, 0) for each in found]
    grades = [list(qrels[query].values()) for query in queries]
    values = {metric: _value(Metric.parse(metric), gains, grades) for metric in metrics}
    return {query: {metric: float(found[row]) for metric, found in values.items()} for row, query in enumerate(queries)}


def _value(metric: Metric, gains: np.ndarray, grades: Sequence[Sequence[int]]) -> np.ndarray:
    relevant = gains > 0
    judged = np.array([sum(grade > 0 for grade in found) for found in grades])
    if metric.name == "nDCG":
        k = metric.k or max([gains.shape[1], *(len(found) for found in grades)])
        return ndcg(gains, ideal(grades, k), k)
    if metric.name == "AP":
        return average_precision(relevant[:, :metric.k], judged)
    if metric.name == "RR":
        return reciprocal_rank(relevant[:, :metric.k])
    if metric.name == "P" and metric.k:
        return precision(relevant, metric.k)
    if metric.name == "R" and metric.k:
        return recall(relevant, judged, metric.k)
    raise InputError(Problem(f"metric {metric}", "of a run there are nDCG, nDCG@K, AP, RR, P@K and R@K"))


def ranked(found: Mapping[str, float]) -> list[str]:
    """A query's results in order: score descending, then id bytes descending."""
    names = list(found)
    order = np.argsort(packed(np.array(list(found.values()), np.float32), places(names)))[::-1]
    return [names[place] for place in order]


def _fields(path: Path, count: int, problems: list[Problem]) -> Iterable[tuple[str, list[str]]]:
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").split("\n"), 1):
        parts = line.split()
        if not parts:
            continue
        if len(parts) == count:
            yield f"{path}:{number}", parts
        else:
            problems.append(Problem(f"{path}:{number}", f"found {len(parts)} fields, expected {count}"))


def _number(text: str, kind: type, where: str, problems: list[Problem]) -> float:
    try:
        return kind(text)
    except ValueError:
        problems.append(Problem(where, f"{text!r} is no number"))
        return kind(0)


def file_stem(task: str, chunking: str) -> str:
    """What the names of one task's files under one chunking begin with."""
    return "".join(each if each.isalnum() or each in "-_." else "-" for each in f"{task}.{chunking}")
