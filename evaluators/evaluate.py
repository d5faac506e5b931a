"""One encode per (encoder, corpus, chunking); every dimension, precision and metric is read off it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from corpora.chunks import ChunkTable
from corpora.errors import InputError, NonFinite, Problem
from corpora.tokens import Tokenizer
from evaluators import trec
from evaluators.codes import PRECISIONS, bytes_per_vector, stored
from evaluators.encoder import Encoder, Scorer, encode_documents, encode_queries
from evaluators.metrics import check_ks
from evaluators.results import Collector, Results
from evaluators.scores import KINDS, MatrixScores, Scores
from evaluators.suites import SUITES, WHOLE, Wanted, chunk_size, spans
from evaluators.suites.needle import NeedlePlan, Needles, build
from evaluators.tasks import Task
from evaluators.views import Cuts, View

DEFAULT_SUITES = ("q2c", "q2d", "context", "chunk-size", "storage", "spans")
RUN_DEPTH = 100
"""How many results per query a TREC run file holds at least."""


def evaluate(
    encoder: Encoder | Scorer,
    tasks: Sequence[Task],
    suites: Sequence[str] = DEFAULT_SUITES,
    *,
    dimensions: Sequence[int] | None = None,
    precisions: Sequence[str] = PRECISIONS,
    ks: Sequence[int] = (1, 5, 10),
    chunking: str | None = None,
    chunk_sizes: Sequence[int] = (64, 128, 256, 512),
    budgets: Sequence[int] = (2000,),
    needle: NeedlePlan = NeedlePlan(),
    tokenizer: Tokenizer | None = None,
    runs: Path | None = None,
    say: Callable[[str], None] = lambda what: None,
) -> Results:
    """Evaluates an encoder, or a scorer without vectors, on every task in every suite.

    dimensions: cuts of the vectors, all of them by default. chunking: the one of q2c, q2d, context, storage and spans
    instead of `sentence`; `given` also in chunk-size (vectors that exist already). tokenizer: cuts `tokens:N` for
    those without one of their own. needle: what the needle suite hides; every task's corpus is filler. runs: a folder
    for TREC runs and qrels. say: hears what is encoded next. A metric that no query counts for is absent, not 0.
    """
    dimensions = _dimensions(encoder, dimensions)
    _check(encoder, tasks, suites, dimensions, precisions, ks)
    wanted = Wanted(chunking, tuple(chunk_sizes), encoder.contextual)
    cuts = Cuts(tuple(sorted(set(ks))), tuple(sorted(set(budgets))))
    tokenizer = encoder.tokenizer or tokenizer
    hidden = [_hidden(task, tokenizer, needle) for task in tasks] if "needle" in suites else []
    collector = Collector(encoder.name, [*tasks, *(needles.task for needles in hidden)])
    for task in tasks:
        plan: dict[str, list[str]] = {}
        for suite in suites:
            for each in SUITES[suite].chunkings(wanted):
                plan.setdefault(each, []).append(suite)
        queries = _queries(encoder, task) if plan else None
        for each, read in plan.items():
            say(f"{task.name}: {len(task.corpus.documents)} documents, chunking {each}")
            _evaluate(encoder, task, queries, each, read, dimensions, precisions, cuts, tokenizer, collector, runs)
        if "chunk-size" in suites:
            _curves(collector, task, wanted.sizes)
    for needles in hidden:
        say(f"{needles.task.name}: {len(needles.task.corpus.documents)} texts of up to {max(needles.lengths)} tokens")
        _find_needles(encoder, needles, dimensions, precisions, tokenizer, collector)
    return collector.results()


def _evaluate(
    encoder: Encoder | Scorer, task: Task, queries: np.ndarray | None, chunking: str, suites: list[str],
    dimensions: Sequence[int], precisions: Sequence[str], cuts: Cuts, tokenizer: Tokenizer | None,
    collector: Collector, runs: Path | None,
) -> None:
    """One encode of the chunks, and everything that the suites read off it. queries `[queries, dimension]`, if vectors."""
    index, gold = task.index(chunking, tokenizer), task.gold(chunking, tokenizer, cuts)
    depth = spans.depth(gold.costs, cuts.budgets) if "spans" in suites else 1
    if runs is not None:
        depth = max(depth, RUN_DEPTH)
        trec.write_gold(runs, task.name, chunking, index, gold.judgments)
    for dimension, precision, scores, costs in _scores(encoder, task, queries, index.table, dimensions, precisions):
        view = View(scores, index, gold, depth)
        for suite in suites:
            collector.add(suite, task, chunking, dimension, precision, SUITES[suite].values(view))
        collector.count(suites, task, chunking, dimension, precision, view, costs)
        if runs is not None:
            trec.write_view(runs, task.name, chunking, dimension, precision, encoder.name, index, view)


def _find_needles(
    encoder: Encoder | Scorer, needles: Needles, dimensions: Sequence[int], precisions: Sequence[str],
    tokenizer: Tokenizer, collector: Collector,
) -> None:
    """One encode of all haystacks, twins and needles, each as one chunk."""
    task, table = needles.task, needles.task.index(WHOLE, tokenizer).table
    for dimension, precision, scores, costs in _scores(encoder, task, _queries(encoder, task), table, dimensions, precisions):
        values = needles.values(scores)
        collector.add("needle", task, WHOLE, dimension, precision, values)
        unlike = len(needles.alone) - len(values[f"Normalised@{needles.lengths[0]}"][0])
        collector.note("needle", task, WHOLE, dimension, precision,
                       {"queries unlike their needle": unlike, "lengths beyond the filler": needles.left_out} | costs)


def _hidden(task: Task, tokenizer: Tokenizer | None, plan: NeedlePlan) -> Needles:
    if tokenizer is None:
        raise InputError(Problem("suite needle", "measures haystacks in tokens, and this encoder has no tokenizer: "
                                 "pass one, or leave the suite out"))
    return task.once(("needles", tokenizer.sha256, plan), lambda: build(tokenizer, task, plan))


def _queries(encoder: Encoder | Scorer, task: Task) -> np.ndarray | None:
    return None if isinstance(encoder, Scorer) else encode_queries(encoder, task.corpus)


def _scores(
    encoder: Encoder | Scorer, task: Task, queries: np.ndarray | None, table: ChunkTable, dimensions: Sequence[int],
    precisions: Sequence[str],
) -> Iterator[tuple[int, str, Scores, dict[str, int]]]:
    """Dimension, precision, scores and costs of everything that one encode gives; a scorer has one, of dimension 0."""
    if isinstance(encoder, Scorer):
        matrix = encoder.scores([query.text for query in task.corpus.queries], task.corpus, table)
        if not np.isfinite(matrix).all():
            raise NonFinite(f"{encoder.name} on {task.corpus.name}: not all scores are finite")
        yield 0, "float32", MatrixScores(matrix), {}
        return
    encoded = encode_documents(encoder, task.corpus, table)
    for precision in precisions:
        both = [stored(z, precision, encoder.quantiser) for z in (queries, encoded.vectors)]
        for dimension in dimensions:
            costs = {"tokens embedded": encoded.tokens_in,
                     "index bytes": len(table) * bytes_per_vector(dimension, precision)}
            yield dimension, precision, KINDS[precision](*(codes[:, :dimension] for codes in both)), costs


def _curves(collector: Collector, task: Task, sizes: tuple[str, ...]) -> None:
    """The chunk-size suite's drop and slope, once all sizes are there."""
    label = f"{sizes[0]}..{sizes[-1]}"
    for (dimension, precision), found in collector.by_chunking("chunk-size", task, chunk_size.METRIC).items():
        collector.add("chunk-size", task, label, dimension, precision, chunk_size.curve(found))


def _dimensions(encoder: Encoder | Scorer, dimensions: Sequence[int] | None) -> tuple[int, ...]:
    if isinstance(encoder, Scorer):
        return (0,)
    return tuple(dict.fromkeys(dimensions)) if dimensions else (encoder.dimension,)


def unknown(suites: Sequence[str], precisions: Sequence[str]) -> list[Problem]:
    """The words that name no suite or no precision."""
    asked = [("suite", suites, SUITES), ("precision", precisions, PRECISIONS)]
    return [Problem(f"{what} {each!r}", f"allowed are {', '.join(allowed)}") for what, given, allowed in asked for each in given if each not in allowed]


def _check(
    encoder: Encoder | Scorer, tasks: Sequence[Task], suites: Sequence[str], dimensions: Sequence[int],
    precisions: Sequence[str], ks: Sequence[int],
) -> None:
    """Everything that is wrong with the request, at once, before anything is encoded."""
    check_ks(ks)
    problems = unknown(suites, precisions)
    if not isinstance(encoder, Scorer):
        problems += [Problem(f"dimension {each}", f"{encoder.name} has {encoder.dimension}: ask for 1 to that many")
                     for each in dimensions if not 1 <= each <= encoder.dimension]
    names = [task.name for task in tasks]
    problems += [Problem(f"task {name!r}", "is named twice: give each task its own name")
                 for name in sorted({name for name in names if names.count(name) > 1})]
    problems += [Problem(f"task {task.name!r}", "has no queries: there is nothing to measure")
                 for task in tasks if not task.corpus.queries and set(suites) - {"needle"}]
    problems += [Problem(f"task {task.name!r}", "conteb needs the publishers' chunks in every document (`chunks`)")
                 for task in tasks if "conteb" in suites and any(each.chunks is None for each in task.corpus.documents)]
    if problems:
        raise InputError(problems)
