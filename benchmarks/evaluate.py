"""What every dimension, precision and metric of the suites cost beyond the encode that they are read off.

    python benchmarks/evaluate.py                          the demo's dev split, seconds
    python benchmarks/evaluate.py --documents 480 --length 2000

A student of MiniLM's first layers, untrained (base+), is evaluated on the built-in corpus as a sweep evaluates a
checkpoint. The encoder's own time is taken inside the same run; the ratio is the whole evaluation over it. `first` also
derives the judgments from the spans, which further evaluations of the same task share. Threads: one, as in a sweep's
workers, unless OMP_NUM_THREADS says otherwise. Target: a ratio of at most 1.10.
"""

# ruff: noqa: E402
from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before any library reads it; as a sweep's workers have it

import argparse
import platform
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

from corpora.documents import Corpus
from corpora.generator import GeneratorSettings, demo_splits, generate
from evaluators.codes import PRECISIONS
from evaluators.encoder import Encoded, Encoder
from evaluators.evaluate import DEFAULT_SUITES, evaluate
from evaluators.suites import SUITES
from evaluators.tasks import Task
from trainables.base import build_base
from trainables.encoders import CHECKPOINT, encoder_of
from trainables.recipe import StudentConfig


class Timed:
    """The encoder, with the seconds (processor, wall) that it spends encoding."""

    def __init__(self, encoder: Encoder):
        self._encoder, self.spent = encoder, np.zeros(2)

    def __getattr__(self, name: str) -> object:
        return getattr(self._encoder, name)

    def queries(self, texts: list[str]) -> np.ndarray:
        return self._timed(lambda: self._encoder.queries(texts))

    def documents(self, corpus: Corpus, table: object) -> Encoded:
        return self._timed(lambda: self._encoder.documents(corpus, table))

    def _timed(self, step):
        begun = now()
        found = step()
        self.spent += now() - begun
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, help="documents to generate instead of the demo's dev split")
    parser.add_argument("--length", type=int, default=2000, help="their tokens, about")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[384, 256, 128, 64, 32])
    parser.add_argument("--chunk-sizes", type=int, nargs="+", default=[64, 128, 256, 512])
    parser.add_argument("--suites", nargs="+", choices=SUITES, default=DEFAULT_SUITES)
    parser.add_argument("--repeats", type=int, default=3, help="further evaluations; the best counts")
    asked = parser.parse_args()
    made = GeneratorSettings(documents=asked.documents, length=asked.length) if asked.documents else None
    corpus = generate(made, 0) if made else demo_splits(0)["dev"]
    with tempfile.TemporaryDirectory() as store:
        base = build_base(StudentConfig(layers=asked.layers), Path(store))
        encoder = encoder_of(CHECKPOINT, str(base))
        task = Task.of(corpus)
        runs = [measured(encoder, task, asked) for _ in range(1 + asked.repeats)]
    print(f"Python {platform.python_version()}, numpy {np.__version__}, torch {torch.__version__}, transformers "
          f"{version('transformers')}; {os.cpu_count()} cores, {torch.get_num_threads()} threads")  # fmt: skip
    print(f"{len(corpus.documents)} documents of {np.mean([len(each.text) for each in corpus.documents]):.0f} characters, "
          f"{len(corpus.queries)} queries; suites {', '.join(asked.suites)}; dimensions {asked.dimensions} x "
          f"{', '.join(PRECISIONS)}: {runs[0][1]} figures")  # fmt: skip
    print(f"{'':12}{'encode s':>10}{'whole s':>10}{'ratio':>8}{'wall: encode s':>16}{'whole s':>10}{'ratio':>8}")
    best = min(runs[1:] or runs, key=lambda run: run[0][1, 0] / run[0][0, 0])
    for name, (seconds, _) in {"first": runs[0], "further": best}.items():
        (encode, wall_encode), (whole, wall) = seconds
        print(f"{name:12}{encode:10.2f}{whole:10.2f}{whole / encode:8.2f}{wall_encode:16.2f}{wall:10.2f}{wall / wall_encode:8.2f}")


def measured(encoder: Encoder, task: Task, asked: argparse.Namespace) -> tuple[np.ndarray, int]:
    """Seconds `[encode, whole] x [processor, wall]`, and how many means were found."""
    timed, begun = Timed(encoder), now()
    results = evaluate(timed, [task], asked.suites, dimensions=asked.dimensions, chunk_sizes=asked.chunk_sizes)
    whole = now() - begun
    return np.stack([timed.spent, whole]), len(results.rows())


def now() -> np.ndarray:
    return np.array([time.process_time(), time.perf_counter()])


if __name__ == "__main__":
    main()
