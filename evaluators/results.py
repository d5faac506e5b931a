"""What an evaluation found: a value per query first, means and headline figures from it."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from corpora.errors import InputError, NonFinite, Problem
from corpora.files import write_atomically
from evaluators.tasks import Task
from evaluators.views import NDCG_CUT, Values, View

AXES = ["suite", "task", "chunking", "dimension", "precision", "metric"]
PER_QUERY = [*AXES, "query", "value"]
ROWS = [*AXES, "value", "queries"]
COUNTS = ["suite", "task", "chunking", "dimension", "precision", "name", "value"]
TASKS = ["task", "domain", "corpus_sha256", "split", "documents", "queries"]


@dataclass(frozen=True, eq=False)
class Results:
    """Per-query values and what they stand on.

    per_query: suite, task, chunking, dimension, precision, metric, query, value (dimension 0: a scorer)
    queries:   task, query, ability, domain, family
    tasks:     task, domain, corpus_sha256, split, documents, queries
    counts:    suite, task, chunking, dimension, precision, name, value: queries left out, ties, costs
    """

    encoder: str
    per_query: pd.DataFrame
    queries: pd.DataFrame
    tasks: pd.DataFrame
    counts: pd.DataFrame

    def rows(self) -> pd.DataFrame:
        """Means over queries: suite, task, chunking, dimension, precision, metric, value, queries."""
        grouped = self.per_query.groupby(AXES, observed=True, sort=False)["value"]
        return grouped.agg(value="mean", queries="size").reset_index()[ROWS]

    def figures(self) -> dict[str, float]:
        """Headline figures, means over tasks at full dimension and float32: `q2c/nDCG@10`, `context/Answer@10`,
        `chunk-size/nDCG@10[tokens:64]`, `chunk-size/drop` (points), and `storage/nDCG@10[d=64,int8]` for every axis."""
        found: dict[str, list[float]] = {}
        rows = self.rows()
        for row in rows[_headline(rows)].itertuples():
            of_size = row.suite == "chunk-size" and row.metric not in ("drop", "slope")
            found.setdefault(f"{row.suite}/{row.metric}" + (f"[{row.chunking}]" if of_size else ""), []).append(row.value)
        for row in rows[rows.suite == "storage"].itertuples():
            found.setdefault(f"storage/{row.metric}[d={row.dimension},{row.precision}]", []).append(row.value)
        return {name: float(np.mean(values)) for name, values in found.items()}

    def values(
        self, suite: str, metric: str, dimension: int | None = None, precision: str = "float32",
        chunking: str | None = None,
    ) -> pd.Series:
        """One metric's value by (task, query): at full dimension and under the headline's chunking unless said."""
        frame = self.per_query
        keep = (frame.suite == suite) & (frame.metric == metric) & (frame.precision == precision)
        keep &= frame.dimension == (self.dimension if dimension is None else dimension)
        keep &= _preferred(frame) if chunking is None else frame.chunking == chunking
        if not keep.any():
            raise InputError(Problem(f"{suite}/{metric}", f"was not measured at dimension {dimension or self.dimension}"
                                     f", {precision}, chunking {chunking or 'of the headline'}"))
        chosen = frame[keep]
        index = pd.MultiIndex.from_arrays([chosen.task.astype(object), chosen["query"].astype(object)])
        return pd.Series(chosen["value"].to_numpy(), index=index.set_names(["task", "query"]))

    def figure(self, name: str) -> pd.Series:
        """Per-query values of a name that `figures` gives: what a bootstrap of that figure resamples."""
        suite, metric, axes = split_figure(name)
        if axes is None:
            return self.values(suite, metric)
        if suite == "chunk-size":
            return self.values(suite, metric, chunking=axes)
        dimension, precision = axes.removeprefix("d=").split(",")
        return self.values(suite, metric, int(dimension), precision)

    def families(self) -> pd.Series:
        """Family by (task, query): the clusters of the bootstrap, prefixed by nothing, shared between tasks."""
        return self.queries.set_index(["task", "query"])["family"]

    def abilities(self, metric: str, suite: str = "context") -> pd.DataFrame:
        """ability, value, queries at full dimension and float32, over the queries that name one; `all` is all of these.

        Empty where none does.
        """
        values = self.values(suite, metric)
        ability = self.queries.set_index(["task", "query"])["ability"].reindex(values.index)
        values, ability = values[ability.notna()], ability.dropna()
        found = values.groupby(ability.to_numpy(dtype=object)).agg(value="mean", queries="size").rename_axis("ability")
        overall = pd.DataFrame({"value": [values.mean()], "queries": [len(values)]}, index=["all"]).rename_axis("ability")
        return pd.concat([found, overall] if len(found) else [found]).reset_index()

    def domains(self, suite: str, metric: str = "nDCG@10") -> pd.DataFrame:
        """domain, value (mean of its tasks), tasks; the overall row (domain `all`) is the mean of all tasks."""
        by_task = self.values(suite, metric).groupby("task").mean()
        domain = self.tasks.set_index("task")["domain"].reindex(by_task.index).to_numpy(dtype=object)
        found = by_task.groupby(domain).agg(value="mean", tasks="size").rename_axis("domain")
        overall = pd.DataFrame({"value": [by_task.mean()], "tasks": [len(by_task)]}, index=["all"]).rename_axis("domain")
        return pd.concat([found, overall]).reset_index()

    @property
    def dimension(self) -> int:
        """The full dimension: the largest that was measured."""
        return int(self.per_query.dimension.max())

    def to_parquet(self, path: Path) -> None:
        """One file: the per-query rows, and everything else as JSON in its metadata."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.Table.from_pandas(self.per_query, preserve_index=False)
        beside = {"encoder": self.encoder} | {name: getattr(self, name).to_dict("list")
                                             for name in ("queries", "tasks", "counts")}
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), b"stockpot": json.dumps(beside).encode()})
        buffer = io.BytesIO()
        pq.write_table(table, buffer)
        write_atomically(path, buffer.getvalue())

    @classmethod
    def from_parquet(cls, path: Path) -> Results:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            table = pq.read_table(path)
        except (OSError, pa.ArrowException) as error:
            raise InputError(Problem(str(path), f"is no readable parquet file: {str(error).splitlines()[0]}")) from None
        beside = json.loads((table.schema.metadata or {}).get(b"stockpot", b"{}"))
        if "encoder" not in beside:
            raise InputError(Problem(str(path), "holds no results: expected a file that `Results.to_parquet` wrote"))
        frames = {name: pd.DataFrame(beside[name], dtype=object) for name in ("queries", "tasks", "counts")}
        return cls(beside["encoder"], _typed(table.to_pandas(), PER_QUERY), frames["queries"], frames["tasks"],
                   _typed(frames["counts"], COUNTS))


class Collector:
    """Gathers values while an evaluation runs."""

    def __init__(self, encoder: str, tasks: Sequence[Task]):
        self.encoder, self.tasks = encoder, tasks
        self.names = {task.name: np.array([query.id for query in task.corpus.queries], object) for task in tasks}
        self.found: dict[tuple, Values] = {}
        self.counts: list[tuple] = []

    def add(
        self, suite: str, task: Task, chunking: str, dimension: int, precision: str, values: dict[str, Values],
    ) -> None:
        for metric, (rows, value) in values.items():
            if not np.isfinite(value).all():
                raise NonFinite(f"{suite}/{metric} on {task.name}, chunking {chunking}: not all values are finite")
            if len(rows):
                self.found[suite, task.name, chunking, dimension, precision, metric] = rows, value

    def count(
        self, suites: Sequence[str], task: Task, chunking: str, dimension: int, precision: str, view: View,
        costs: dict[str, int],
    ) -> None:
        """Queries that each suite leaves out, the ties at the cut that ids had to break, and what it cost."""
        ties = {f"chunk ties at {NDCG_CUT}": view.chunks.ties(NDCG_CUT),
                f"document ties at {NDCG_CUT}": view.documents.ties(NDCG_CUT)}
        lacking = {"queries without answers": view.judgments.queries - len(view.gold.answered),
                   "queries without target document": view.judgments.queries - len(view.gold.targeted)}
        if "context" in suites:
            lacking["queries without evidence"] = sum(not found for found in view.judgments.paths)
        if view.judgments.table.tokens is not None:
            lacking["tokens in no chunk"] = view.judgments.table.context_only
        for suite in suites:
            self.note(suite, task, chunking, dimension, precision,
                      lacking | {key: int(tied.sum()) for key, tied in ties.items()} | costs)

    def note(
        self, suite: str, task: Task, chunking: str, dimension: int, precision: str, counts: dict[str, int],
    ) -> None:
        self.counts += [(suite, task.name, chunking, dimension, precision, name, int(value))
                        for name, value in counts.items()]

    def by_chunking(self, suite: str, task: Task, metric: str) -> dict[tuple[int, str], dict[str, Values]]:
        """(dimension, precision) -> chunking -> values of one metric."""
        found: dict[tuple[int, str], dict[str, Values]] = {}
        for (named, of, chunking, dimension, precision, spelling), values in self.found.items():
            if (named, of, spelling) == (suite, task.name, metric):
                found.setdefault((dimension, precision), {})[chunking] = values
        return found

    def results(self) -> Results:
        columns: dict[str, list] = {name: [] for name in AXES}
        sizes = [len(rows) for rows, _ in self.found.values()]
        for axes in self.found:
            for name, value in zip(AXES, axes, strict=True):
                columns[name].append(value)
        frame = pd.DataFrame({name: _repeated(values, sizes, name) for name, values in columns.items()})
        frame["query"] = _joined([self.names[axes[1]][rows] for axes, (rows, _) in self.found.items()], object)
        frame["value"] = _joined([value for _, value in self.found.values()], float)
        tasks = [(task.name, task.domain, task.corpus.sha256, task.split, len(task.corpus.documents),
                  len(task.corpus.queries)) for task in self.tasks]
        return Results(self.encoder, frame, pd.concat([task.queries() for task in self.tasks], ignore_index=True),
                       pd.DataFrame(tasks, columns=TASKS, dtype=object),
                       _typed(pd.DataFrame(self.counts, columns=COUNTS), COUNTS))


def split_figure(name: str) -> tuple[str, str, str | None]:
    """`storage/nDCG@10[d=64,int8]` -> (`storage`, `nDCG@10`, `d=64,int8`)."""
    suite, _, rest = name.partition("/")
    metric, _, axes = rest.partition("[")
    return suite, metric, axes.removesuffix("]") or None


def _headline(frame: pd.DataFrame) -> pd.Series:
    """What `figures` names without axes; needle figures at one depth are told by `needle_figures.by_depth`."""
    at_depth = (frame.suite == "needle") & frame.metric.astype(str).str.endswith("]")
    return ((frame.dimension == frame.dimension.max()) & (frame.precision == "float32") & _preferred(frame)
            & (frame.suite != "storage") & ~at_depth)


def _preferred(frame: pd.DataFrame) -> pd.Series:
    """Encoders that see chunks alone ran twice: Document@K counts from the whole documents then."""
    document = (frame.suite == "context") & frame.metric.astype(str).str.startswith("Document@")
    twice = frame.task.isin(frame.task[document & (frame.chunking == "whole")].unique())
    return ~(document & twice & (frame.chunking != "whole"))


def _repeated(values: list, sizes: list[int], name: str) -> pd.Series | np.ndarray:
    if name == "dimension":
        return np.repeat(np.array(values, np.int64), sizes)
    levels = list(dict.fromkeys(values))
    codes = np.array([levels.index(value) for value in values], np.int32)
    return pd.Categorical.from_codes(np.repeat(codes, sizes), levels)


def _joined(parts: list[np.ndarray], kind: type) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0, kind)


def _typed(frame: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """The columns in order, labels as categories, numbers as numbers."""
    frame = frame[columns].copy()
    for name in columns:
        if name in ("dimension",) or name == "value" and "name" in columns:
            frame[name] = frame[name].astype(np.int64)
        elif name not in ("query", "value"):
            frame[name] = pd.Categorical(frame[name], categories=list(dict.fromkeys(frame[name])))
    return frame
