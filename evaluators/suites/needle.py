"""needle: is one sentence still visible in the vector of a long text that holds it (NoLiMa-emb; DESIGN section 6).

Haystacks are cut from a named filler source and measured in the student's tokens, needle included; each has a twin of
the same filler and length without the needle, which is what chance looks like.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from corpora.chunkings import Chunking
from corpora.documents import Corpus, Document, Query, Target
from corpora.errors import InputError, Problem
from corpora.tokens import Tokenizer
from evaluators.scores import Scores
from evaluators.suites.needle_figures import figures
from evaluators.suites.needles import BUILT_IN, Needle
from evaluators.tasks import Task
from evaluators.views import Values

LENGTHS = (128, 256, 512, 1024, 2048, 4096, 8192)
DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
ORDERS = ("default", "inverted")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class NeedlePlan:
    """What is hidden where. `lengths`: None for those of LENGTHS that the filler is long enough for."""

    needles: tuple[Needle, ...] = BUILT_IN
    lengths: tuple[int, ...] | None = None
    depths: tuple[float, ...] = DEPTHS
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Needles:
    """A task of its own: haystacks, their twins and the needles alone are its documents, each one chunk.

    Its queries are `{needle}/{literal | one-hop}/{default | inverted}/{plain | expanded}`, with the needle as family,
    the category as domain and the rest as ability.

    haystack: int64 [queries, lengths, depths], position of the document that holds the query's needle
    twin:     int64 [lengths, depths], position of the same filler without a needle
    alone:    int64 [queries], position of the query's default needle
    """

    task: Task
    lengths: tuple[int, ...]
    depths: tuple[float, ...]
    left_out: int
    haystack: np.ndarray
    twin: np.ndarray
    alone: np.ndarray

    def values(self, scores: Scores) -> dict[str, Values]:
        """Every figure per question; `scores` of the task's queries against its documents as single chunks."""
        rows = np.arange(len(self.alone))
        query = np.broadcast_to(rows[:, None, None], self.haystack.shape).ravel()

        def read(chunks: np.ndarray) -> np.ndarray:
            chunks = np.broadcast_to(chunks, self.haystack.shape)
            return scores.exact(query, chunks.ravel()).reshape(chunks.shape).astype(float)

        reference = scores.exact(rows, self.alone).astype(float)
        found: dict[str, Values] = {}
        for name, value in figures(read(self.haystack), read(self.twin), reference, self.lengths, self.depths).items():
            counted = np.flatnonzero(np.isfinite(value))
            found[name] = counted, value[counted]
        return found


def build(tokenizer: Tokenizer, source: Task, plan: NeedlePlan) -> Needles:
    """The haystacks of `plan` in the corpus of `source`; the same plan and corpus give the same texts."""
    filler = _Filler(tokenizer, source.corpus)
    sizes = {text: len(ids) for text, (ids, _) in _encoded(tokenizer, plan.needles).items()}
    lengths = _lengths(filler, plan.lengths, max(sizes.values()))
    firsts = {length: _firsts(filler, length, plan) for length in lengths}
    documents: dict[str, Document] = {}

    def place(text: str, family: str | None = None) -> int:
        documents.setdefault(text, Document(str(len(documents)), text, family=family))
        return int(documents[text].id)

    twin = [[place(filler.text(first, first + length)) for first in firsts[length]] for length in lengths]
    queries, alone, haystack = [], [], []
    for needle, order in product(plan.needles, ORDERS):
        sentence = needle.default if order == "default" else needle.inverted
        own = [[place(filler.around(sentence, sizes[sentence], first, length, depth), needle.id)
                for first, depth in zip(firsts[length], plan.depths, strict=True)] for length in lengths]
        reference = place(needle.default, needle.id)
        for kind, way, text in _questions(needle):
            queries.append(Query(f"{needle.id}/{kind}/{order}/{way}", text, (Target(str(reference)),),
                                 domain=needle.category, ability=f"{kind}, {order}, {way}"))
            alone.append(reference)
            haystack.append(own)
    corpus = Corpus(f"needles in {source.corpus.name}", tuple(documents.values()), tuple(queries))
    task = Task(f"needles in {source.name}", corpus, domain=source.domain, split=source.split)
    left_out = 0 if plan.lengths else len(LENGTHS) - len(lengths)
    return Needles(task, lengths, plan.depths, left_out, np.array(haystack), np.array(twin), np.array(alone))


class _Filler:
    """All documents of the filler as one text, with its tokens and the places where sentences begin."""

    def __init__(self, tokenizer: Tokenizer, corpus: Corpus):
        document = Document(corpus.name, "\n\n".join(each.text.strip() for each in corpus.documents))
        self.name, self.whole = corpus.name, document.text
        self.offsets = tokenizer.encode([document.text])[0][1]
        self.starts = np.searchsorted(self.offsets[:, 0], Chunking("sentence").spans(document)[:, 0])

    def __len__(self) -> int:
        """Its tokens."""
        return len(self.offsets)

    def text(self, first: int, last: int) -> str:
        return self.whole[self.offsets[first, 0]:self.offsets[last - 1, 1]] if first < last else ""

    def around(self, sentence: str, size: int, first: int, length: int, depth: float) -> str:
        """`length` tokens from `first` on, those of the sentence, `size`, included; it stands between two near `depth`."""
        last = first + length - size
        inner = self.starts[(self.starts >= first) & (self.starts <= last)]
        cuts = np.array([first, *inner, last])
        cut = int(cuts[np.abs(cuts - (first + depth * (last - first))).argmin()])
        return f"{self.text(first, cut)} {sentence} {self.text(cut, last)}".strip()


def _encoded(tokenizer: Tokenizer, needles: Sequence[Needle]) -> dict[str, tuple]:
    texts = [text for needle in needles for text in (needle.default, needle.inverted)]
    return dict(zip(texts, tokenizer.encode(texts), strict=True))


def _lengths(filler: _Filler, asked: tuple[int, ...] | None, needle: int) -> tuple[int, ...]:
    """The lengths asked for, or those of LENGTHS that fit between the longest needle and the filler."""
    wrong = [length for length in asked or LENGTHS if not needle < length <= len(filler)]
    if asked and wrong or len(wrong) == len(LENGTHS):
        raise InputError(Problem(f"needle: filler {filler.name!r}", f"has {len(filler)} tokens, the longest needle "
                                 f"{needle}: haystacks of {', '.join(map(str, wrong))} tokens cannot be cut from it; ask for "
                                 "lengths in between, or give a longer corpus"))
    if wrong:
        log.warning("needle: the filler %s has %d tokens: no haystacks of %s", filler.name, len(filler),
                    ", ".join(map(str, wrong)))
    return tuple(length for length in dict.fromkeys(asked or LENGTHS) if length not in wrong)


def _firsts(filler: _Filler, length: int, plan: NeedlePlan) -> list[int]:
    """Where the stretch of each depth begins: the same for every needle."""
    rng = np.random.default_rng([plan.seed, length])
    return [int(rng.integers(len(filler) - length + 1)) for _ in plan.depths]


def _questions(needle: Needle) -> list[tuple[str, str, str]]:
    found = []
    for kind, text, more in (("literal", needle.literal, needle.literal_expansion),
                             ("one-hop", needle.one_hop, needle.one_hop_expansion)):
        found += [(kind, "plain", text)] + [(kind, "expanded", f"{text} {more}")] * bool(more)
    return found
