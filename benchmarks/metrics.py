"""How fast metrics are worked out beside mteb's own, on one score matrix and with equal values.

    python benchmarks/metrics.py                                     2,000 queries x 20,000 chunks, a minute
    python benchmarks/metrics.py --queries 200 --chunks 5000         a look, seconds

Both sides give nDCG, AP, recall, precision and reciprocal rank at every cut of mteb's, per query. mteb's side is its own
`calculate_retrieval_scores` on its own form, a dictionary of the best results of each query, which its search makes of
a matrix; a further line tells what pytrec_eval alone takes (mteb adds its nAUC).
Everything is a best of several within one run, in processor time and in wall time. Target: 10 times faster.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import version

import numpy as np
import pytrec_eval
import torch
from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores
from mteb.models.search_wrappers import SearchEncoderWrapper

from corpora.chunks import ChunkTable
from evaluators import metrics
from evaluators.ranking import Index, Ranking, rank
from evaluators.scores import MatrixScores
from evaluators.views import keys, member

CUTS = (1, 3, 5, 10, 20, 100, 1000)
"""mteb's default `k_values`."""
MEASURES = ("ndcg_cut", "map_cut", "recall", "P")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--relevant", type=int, default=3, help="relevant chunks of each query")
    parser.add_argument("--cuts", type=int, nargs="+", default=CUTS)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    cuts = tuple(sorted({min(cut, asked.chunks) for cut in asked.cuts}))
    rng = np.random.default_rng(0)
    index = flat_index(asked.chunks)
    relevant = [np.sort(rng.choice(asked.chunks, asked.relevant, replace=False)) for _ in range(asked.queries)]
    matrix = made_scores(rng, asked.queries, asked.chunks, relevant)
    _ = index.chunk_place, index.document_place  # Once for all, as the names of mteb's dictionaries are.

    names = index.chunk_ids
    qrels = {f"q{row}": {names[place]: 1 for place in found.tolist()} for row, found in enumerate(relevant)}
    spelled = {f"{measure}.{','.join(map(str, cuts))}" for measure in MEASURES}
    rows: dict[str, tuple[np.ndarray, object]] = {}
    rows["ours: matrix to ranks"] = timed(lambda: rank(MatrixScores(matrix), index, cuts[-1], 1)[0], asked.repeats)
    ranking = rows["ours: matrix to ranks"][1]
    rows["ours: ranks to values"] = timed(lambda: ours(ranking, relevant, asked.chunks, cuts), asked.repeats)
    rows["mteb: matrix to dictionary"] = timed(lambda: dictionary(matrix, names, cuts[-1]), asked.repeats)
    results = rows["mteb: matrix to dictionary"][1]
    rows["mteb: dictionary to values"] = timed(lambda: calculate_retrieval_scores(results, qrels, cuts), asked.repeats)
    rows["  of it, pytrec_eval"] = timed(lambda: pytrec_eval.RelevanceEvaluator(qrels, spelled).evaluate(results), asked.repeats)

    print(f"Python {platform.python_version()}, numpy {np.__version__}, mteb {version('mteb')}, "
          f"pytrec-eval-terrier {version('pytrec-eval-terrier')}; {os.cpu_count()} cores")  # fmt: skip
    print(f"{asked.queries:,} queries x {asked.chunks:,} chunks, cuts {cuts}, best of {asked.repeats}:")
    print(f"{'':30}{'processor s':>12}{'wall s':>9}")
    for name, (took, _) in rows.items():
        print(f"{name:30}{took[0]:12.3f}{took[1]:9.3f}")
    ratio(rows, "metrics alone", ["ours: ranks to values"], ["mteb: dictionary to values"])
    ratio(rows, "metrics alone, without nAUC", ["ours: ranks to values"], ["  of it, pytrec_eval"])
    ratio(rows, "from the matrix", list(rows)[:2], list(rows)[2:4])
    print(f"largest difference per query  {difference(rows):.1e}")


def ours(ranking: Ranking, relevant: list[np.ndarray], chunks: int, cuts: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Values `[queries]` by trec_eval's spelling of each measure."""
    hit = member(ranking.position, chunks, keys(relevant, chunks))
    judged = np.array([len(found) for found in relevant])
    found: dict[str, np.ndarray] = {}
    for k in cuts:
        best = metrics.ideal([[1] * count for count in judged.tolist()], k)
        found |= {f"ndcg_cut_{k}": metrics.ndcg(hit, best, k), f"recall_{k}": metrics.recall(hit, judged, k),
                  f"map_cut_{k}": metrics.average_precision(hit[:, :k], judged), f"P_{k}": metrics.precision(hit, k),
                  f"MRR@{k}": metrics.reciprocal_rank(hit[:, :k])}  # fmt: skip
    return found


def dictionary(matrix: np.ndarray, names: list[str], depth: int) -> dict[str, dict[str, float]]:
    """The best `depth` results of each query, by mteb's own steps and in its own form."""
    values, places = torch.topk(torch.from_numpy(matrix), min(depth + 1, matrix.shape[1]), dim=1)
    queries = [f"q{row}" for row in range(len(matrix))]
    heaps = SearchEncoderWrapper._sort_full_corpus_results(
        None, result_heaps={name: [] for name in queries}, query_idx_to_id=dict(enumerate(queries)), query_embeddings=matrix,
        cos_scores_top_k_idx=places.tolist(), cos_scores_top_k_values=values.tolist(), sub_corpus_ids=names, top_k=depth,
    )  # fmt: skip
    return {query: {name: score for score, name in heap} for query, heap in heaps.items()}


def difference(rows: dict[str, tuple[np.ndarray, object]]) -> float:
    """Over all queries and measures; reciprocal ranks by their mean, which is all that mteb gives."""
    values, theirs = rows["ours: ranks to values"][1], rows["mteb: dictionary to values"][1]
    per_query = theirs.all_scores
    worst = [abs(np.array([per_query[f"q{row}"][name] for row in range(len(value))]) - value).max()
             for name, value in values.items() if not name.startswith("MRR")]  # fmt: skip
    return max(worst + [abs(theirs.mrr[name] - value.mean()) for name, value in values.items() if name.startswith("MRR")])


def ratio(rows: dict[str, tuple[np.ndarray, object]], what: str, mine: list[str], theirs: list[str]) -> None:
    processor, wall = sum(rows[name][0] for name in theirs) / sum(rows[name][0] for name in mine)
    print(f"{what:30}{processor:11.1f}x{wall:8.1f}x")


def flat_index(chunks: int) -> Index:
    """Documents of one chunk each."""
    names = tuple(f"d{place:07d}" for place in range(chunks))
    return Index(ChunkTable("given", names, np.arange(chunks, dtype=np.int32), np.zeros(chunks, np.int32),
                            np.zeros((chunks, 2), np.int64), None, np.arange(chunks + 1)))  # fmt: skip


def made_scores(rng: np.random.Generator, queries: int, chunks: int, relevant: list[np.ndarray]) -> np.ndarray:
    """float32 `[queries, chunks]` without ties, the relevant ones higher on the whole."""
    matrix = rng.standard_normal((queries, chunks), np.float32)
    for row, found in enumerate(relevant):
        matrix[row, found] += rng.normal(3, 1, len(found)).astype(np.float32)
    return matrix


def timed(step: Callable[[], object], repeats: int) -> tuple[np.ndarray, object]:
    """(processor seconds, wall seconds), and what the step gives."""
    best, found = np.full(2, np.inf), None
    for _ in range(repeats):
        start = time.process_time(), time.perf_counter()
        found = step()
        best = np.minimum(best, (time.process_time() - start[0], time.perf_counter() - start[1]))
    return best, found


if __name__ == "__main__":
    main()
