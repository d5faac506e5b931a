"""How fast and in how little memory a large index is ranked exactly, beside the machine's own float32 product.

    python benchmarks/ranking.py                                        context-bench's size: minutes, 13 GB of disk
    python benchmarks/ranking.py --queries 500 --chunks 100000          a look, seconds

Vectors are made at random in blocks and mapped into memory. `share` is the rate of the whole ranking, rescoring and
order of ids included, over the rate of numpy's float32 product of one block, measured before and after in the same
run. Private memory is what the process holds itself, without the pages of the map. Some queries are ranked again by
float64 and a plain sort. Targets: a share of 70% or more; under 4 GB.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from corpora.chunks import ChunkTable
from evaluators.codes import PRECISIONS
from evaluators.ranking import BLOCK, Index, packed, rank
from evaluators.scores import KINDS

MADE = 1 << 16
"""Chunks made at once."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=2099)
    parser.add_argument("--chunks", type=int, default=2_458_072)
    parser.add_argument("--dimensions", type=int, default=1024)
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=["float32", "int8"])
    parser.add_argument("--depth", type=int, default=10, help="results per query, of chunks and of documents")
    parser.add_argument("--per-document", type=int, default=24, help="mean chunks of a document")
    parser.add_argument("--checked", type=int, default=3, help="queries ranked again by float64")
    parser.add_argument("--folder", type=Path, help="where the vectors are mapped; a temporary folder by default")
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    index, took = timed(lambda: made_index(rng, asked.chunks, asked.per_document))
    _, placed = timed(lambda: (index.chunk_place, index.document_place))
    print(f"Python {platform.python_version()}, numpy {np.__version__}, {blas()}; {os.cpu_count()} cores")
    print(f"{asked.queries:,} queries x {asked.chunks:,} chunks of {len(index.document_ids):,} documents x "
          f"{asked.dimensions} dimensions, depth {asked.depth}; the order of ids took {placed:.1f} s, once for all")  # fmt: skip
    print(f"{'':10}{'seconds':>9}{'G mult-adds/s':>15}{'sgemm':>8}{'share':>8}{'private GB':>12}{'sgemm before/after':>20}  checked")
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        for precision in asked.precisions:
            measure(precision, asked, index, rng, Path(folder) / precision)


def measure(precision: str, asked: argparse.Namespace, index: Index, rng: np.random.Generator, path: Path) -> None:
    """One line of the table."""
    queries, chunks = made_vectors(rng, precision, asked.queries, asked.chunks, asked.dimensions, path)
    width = min(asked.chunks, max(64, BLOCK // asked.queries))
    before = sgemm_rate(rng, asked.queries, width, asked.dimensions)
    with private_peak() as peak:
        found, took = timed(lambda: rank(KINDS[precision](queries, chunks), index, asked.depth, asked.depth))
    after = sgemm_rate(rng, asked.queries, width, asked.dimensions)
    rate, sgemm = asked.queries * asked.chunks * asked.dimensions / took / 1e9, (before + after) / 2
    verdict = "equal" if all(same(found, row, queries, chunks, index) for row in range(asked.checked)) else "DIFFERENT"
    print(f"{precision:10}{took:9.1f}{rate:15.1f}{sgemm:8.1f}{rate / sgemm:8.0%}{peak() / 1e9:12.2f}"
          f"{f'{before:.0f}/{after:.0f}':>20}  {verdict}", flush=True)  # fmt: skip
    path.unlink()


def made_index(rng: np.random.Generator, chunks: int, mean: int) -> Index:
    """Documents of 1 to twice `mean` chunks, under ids in no order."""
    sizes = rng.integers(1, 2 * mean, 2 * chunks // mean + 2)
    ends = np.minimum(np.cumsum(sizes), chunks)
    ends = ends[: np.searchsorted(ends, chunks) + 1]
    indptr = np.concatenate([[0], ends])
    names = tuple(f"d{number:08x}" for number in rng.permutation(len(ends)).tolist())
    document = np.repeat(np.arange(len(ends), dtype=np.int32), np.diff(indptr))
    number = (np.arange(chunks) - indptr[document]).astype(np.int32)
    return Index(ChunkTable("given", names, document, number, np.zeros((chunks, 2), np.int64), None, indptr))


def made_vectors(
    rng: np.random.Generator, precision: str, queries: int, chunks: int, dimensions: int, path: Path,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Queries `[queries, d]`, and chunks `[chunks, d]` mapped from a file."""
    draw: dict[str, Callable[[int], np.ndarray]] = {
        "float32": lambda rows: rng.standard_normal((rows, dimensions), np.float32),
        "int8": lambda rows: rng.integers(-127, 128, (rows, dimensions), np.int8),
        "binary": lambda rows: 2 * rng.integers(0, 2, (rows, dimensions), np.int8) - 1,
    }
    with path.open("wb") as file:
        for start in range(0, chunks, MADE):
            file.write(draw[precision](min(MADE, chunks - start)).data)
    kind = np.float32 if precision == "float32" else np.int8
    return draw[precision](queries), np.memmap(path, kind, "r", shape=(chunks, dimensions))


def same(found: tuple, row: int, queries: np.ndarray, chunks: np.ndarray, index: Index) -> bool:
    """Whether a query's best chunks and documents are those of float64 scores, all sorted."""
    query = queries[row].astype(np.float64)
    score = np.empty(len(chunks), np.float32)
    for start in range(0, len(chunks), MADE):
        rows = chunks[start : start + MADE].astype(np.float64)
        length = np.sqrt((query @ query) * np.einsum("nd,nd->n", rows, rows))
        score[start : start + MADE] = np.einsum("nd,d->n", rows, query) / length
    best = np.maximum.reduceat(score, index.table.indptr[:-1])
    expected = (np.argsort(packed(each, place))[::-1] for each, place in
                ((score, index.chunk_place), (best, index.document_place)))  # fmt: skip
    return all(np.array_equal(ranking.position[row], order[: ranking.position.shape[1]])
               for ranking, order in zip(found, expected, strict=True))  # fmt: skip


def sgemm_rate(rng: np.random.Generator, queries: int, width: int, dimensions: int, seconds: float = 3.0) -> float:
    """Multiplications and additions a second, in thousands of millions, of the float32 product of one block."""
    left, right = (rng.standard_normal((rows, dimensions), np.float32) for rows in (queries, width))
    _ = left @ right.T
    start, turns = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        _ = left @ right.T
        turns += 1
    return turns * queries * width * dimensions / (time.perf_counter() - start) / 1e9


@contextmanager
def private_peak():
    """Most anonymous memory while the block runs, looked at 20 times a second."""
    seen, done = [private_bytes()], threading.Event()

    def look() -> None:
        while not done.wait(0.05):
            seen.append(private_bytes())

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield lambda: max(seen)
    finally:
        done.set()
        watcher.join()


def private_bytes() -> int:
    """Memory of this process that no file holds, in bytes, as Linux counts it."""
    return 1024 * int(re.search(r"^RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)[1])


def timed(step: Callable[[], object]) -> tuple:
    start = time.perf_counter()
    found = step()
    return found, time.perf_counter() - start


def blas() -> str:
    """numpy's product library and the processor it takes this one for."""
    found = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{found['name']} {found['version']}"


if __name__ == "__main__":
    main()
