"""Figures of a corpus: how much of what it holds, and what chunk boundaries would cut (`corpus check`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from corpora.chunks import chunk_table
from corpora.documents import Corpus
from corpora.families import THRESHOLD, families
from corpora.spans import covering, trim
from corpora.tokens import Tokenizer

SIZES = (64, 128, 256, 512)
"""Chunk sizes, in tokens, at which cut answers are counted."""


@dataclass(frozen=True)
class Statistics:
    """
    lengths: what is drawn as a histogram: name -> int [items].
    kinds: how many documents or queries of each language, domain, ability.
    cut: chunking -> share of the queries with answers of which no answer lies whole in one chunk.
    """

    documents: int
    queries: int
    without_answers: int
    families: int
    largest_family: int
    lengths: dict[str, np.ndarray]
    kinds: dict[str, dict[str, int]]
    cut: dict[str, float]
    family_names: list[str] = field(repr=False)

    def json(self) -> dict:
        return {
            "documents": self.documents,
            "queries": self.queries,
            "queries without answers": self.without_answers,
            "families": self.families,
            "largest family": self.largest_family,
            "lengths": {name: _summary(values) for name, values in self.lengths.items()},
            "kinds": self.kinds,
            "queries whose answer is cut": self.cut,
        }

    def lines(self) -> list[str]:
        found = [
            f"{self.documents:,} documents in {self.families:,} families, the largest of {self.largest_family:,}",
            f"{self.queries:,} queries, {self.without_answers:,} of them without answers",
        ]
        for name, values in self.lengths.items():
            if len(values):
                summary = _summary(values)
                found.append(
                    f"{name}: {summary['total']:,} in all; smallest {summary['smallest']:,}, "
                    f"median {summary['median']:,.0f}, mean {summary['mean']:,.1f}, largest {summary['largest']:,}"
                )
        found += [
            f"{name}: " + ", ".join(f"{kind} {count:,}" for kind, count in counts.items())
            for name, counts in self.kinds.items()
            if counts
        ]
        if self.cut:
            found.append(
                "queries whose every answer a boundary cuts: "
                + ", ".join(f"{share:.1%} at {name}" for name, share in self.cut.items())
            )
        return found


def statistics(
    corpus: Corpus, tokenizer: Tokenizer | None = None, sizes: Sequence[int] = SIZES, threshold: float = THRESHOLD
) -> Statistics:
    """Without a tokenizer, nothing is said of tokens or of cut answers."""
    named = families(corpus, threshold)
    sizes_of = Counter(named)
    targets = [query.targets for query in corpus.queries]
    answers = [sum(len(target.answers) for target in group) for group in targets]
    lengths = {"characters a document": [len(document.text) for document in corpus.documents]}
    cut = {}
    if tokenizer is not None:
        encodings = tokenizer.encode([document.text for document in corpus.documents])
        lengths["tokens a document"] = [len(ids) for ids, _ in encodings]
        cut = {
            f"tokens:{size}": cut_share(corpus, chunk_table(corpus, f"tokens:{size}", encodings).span_of)
            for size in sizes
        }
    lengths |= {
        "answers a query": answers,
        "characters an answer": [end - start for group in targets for target in group for start, end in target.answers],
        "evidence groups a query": [sum(len(target.evidence) for target in group) for group in targets],
        "documents a family": list(sizes_of.values()),
    }
    return Statistics(
        documents=len(corpus.documents),
        queries=len(corpus.queries),
        without_answers=answers.count(0),
        families=len(sizes_of),
        largest_family=max(sizes_of.values(), default=0),
        lengths={name: np.array(values, np.int64) for name, values in lengths.items()},
        kinds={
            "languages": _kinds(document.language for document in corpus.documents),
            "domains": _kinds(document.domain for document in corpus.documents),
            "abilities": _kinds(query.ability for query in corpus.queries),
        },
        cut=cut,
        family_names=named,
    )


def cut_share(corpus: Corpus, span_of) -> float:
    """Share of the queries with answers of which no answer lies whole in one chunk.

    `span_of`: position of a document -> its chunks' spans int `[chunks, 2]`.
    """
    asked, cut = 0, 0
    for query in corpus.queries:
        whole = []
        for target in query.targets:
            place = corpus.position[target.document]
            whole += [
                len(covering(trim(corpus.documents[place].text, span), span_of(place))) > 0 for span in target.answers
            ]
        asked += bool(whole)
        cut += bool(whole) and not any(whole)
    return cut / asked if asked else 0.0


def draw(statistics: Statistics, path) -> None:
    """Histograms of the lengths, and the share of cut answers at each chunk size, as one figure."""
    from matplotlib.figure import Figure

    drawn = {name: values for name, values in statistics.lengths.items() if len(values)}
    panels = len(drawn) + bool(statistics.cut)
    rows = -(-panels // 3)
    figure = Figure(figsize=(12, 3 * rows), layout="constrained")
    axes = figure.subplots(rows, 3, squeeze=False).ravel()
    for axis, (name, values) in zip(axes, drawn.items(), strict=False):
        axis.hist(values, bins=min(40, max(1, len(np.unique(values)))), color="#4477aa")
        axis.set_title(name)
        axis.set_ylabel("count")
    if statistics.cut:
        axes[panels - 1].bar(list(statistics.cut), [100 * share for share in statistics.cut.values()], color="#cc6677")
        axes[panels - 1].set_title("queries whose every answer is cut")
        axes[panels - 1].set_ylabel("%")
    for axis in axes[panels:]:
        axis.set_axis_off()
    figure.savefig(path, format="png", dpi=120)


def _kinds(values: Iterable[str | None]) -> dict[str, int]:
    """How often each value stands, by name."""
    return dict(sorted(Counter(value for value in values if value is not None).items()))


def _summary(values: np.ndarray) -> dict[str, float]:
    if not len(values):
        return {"total": 0}
    return {
        "total": int(values.sum()),
        "smallest": int(values.min()),
        "median": float(np.median(values)),
        "mean": float(values.mean()),
        "largest": int(values.max()),
    }
