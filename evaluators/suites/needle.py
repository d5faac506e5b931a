"""needle: is one sentence still visible in the vector of a long text that holds it (NoLiMa-emb; DESIGN section 6).

Haystacks are cut from a named filler source and measured in the student's tokens, needle included; each has a twin of
the same filler and length without the needle, which is what chance looks like.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from corpora.chunkings import Chunking
from corpora.chunks import chunk_table
from corpora.documents import Corpus, Document, Query, Target
from corpora.errors import InputError, Problem
from corpora.tokens import Tokenizer
from evaluators.encoder import Encoder, encode_documents, encode_queries
from evaluators.scores import CosineScores
from evaluators.suites.needles import BUILT_IN, Needle

LENGTHS = (128, 256, 512, 1024, 2048, 4096, 8192)
DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
BINS = 5
Source = tuple[str, np.ndarray, np.ndarray]
"""Filler text, its token offsets [tokens, 2], and the tokens that begin a sentence."""
SETTING = ["question", "order", "expanded", "length"]


@dataclass(frozen=True)
class Haystack:
    length: int
    depth: float
    before: str
    after: str
    bare: str
    """The filler alone, as long as the haystack with its needle."""


def measure(
    encoder: Encoder, tokenizer: Tokenizer, filler: Corpus, seed: int, needles: Sequence[Needle] = BUILT_IN,
    lengths: Sequence[int] = LENGTHS, depths: Sequence[float] = DEPTHS,
) -> pd.DataFrame:
    """One row per needle, question (literal, one-hop), order (default, inverted), expanded, length and depth.

    similarity: cos(question, haystack); bare: cos(question, the same without needle); normalised and chance: these
    over cos(question, default needle); tokens: the haystack's own. One encode of all haystacks as whole documents.
    """
    rows, texts, questions = _plan(tokenizer, filler, seed, needles, lengths, depths)
    place = {text: position for position, text in enumerate(dict.fromkeys(texts))}
    asked = {text: position for position, text in enumerate(dict.fromkeys(questions))}
    corpus = Corpus(f"needles in {filler.name}", tuple(Document(str(position), text) for text, position in place.items()),
                    tuple(Query(str(position), text, (Target("0"),)) for text, position in asked.items()))
    encodings = tokenizer.encode([document.text for document in corpus.documents])
    table = chunk_table(corpus, "whole", encodings)
    scores = CosineScores(encode_queries(encoder, corpus), encode_documents(encoder, corpus, table).vectors)
    frame = pd.DataFrame(rows)
    query = frame.pop("text").map(asked).to_numpy()
    for column, source in (("similarity", "haystack"), ("bare", "without"), ("reference", "needle_text")):
        chunk = frame[source].map(place).to_numpy()
        frame[column] = scores.exact(query, chunk).astype(float)
        if column == "similarity":
            frame["tokens"] = [len(encodings[each][0]) for each in chunk]
    frame["normalised"], frame["chance"] = frame.similarity / frame.reference, frame.bare / frame.reference
    return frame.drop(columns=["haystack", "without", "needle_text"])


def summary(frame: pd.DataFrame, by: Sequence[str] = SETTING) -> pd.DataFrame:
    """Figures by setting, each per question first and then averaged; beside each what chance gives.

    preferred: share of haystacks above their own twin without needle (chance 0.5, ties half). auc: share of all pairs
    of one with and one without (chance 0.5). separation: difference of the means; cohens_d: over the pooled standard
    deviation. correlation and slope: of the normalised similarity with depth (chance 0).
    """
    found = []
    for setting, part in frame.groupby(list(by), sort=False):
        each = pd.DataFrame([_figures(one) for _, one in part.groupby(["needle", "question"], sort=False)])
        found.append(dict(zip(by, setting, strict=True)) | each.mean().to_dict() | {"questions": len(each)})
    return pd.DataFrame(found)


def by_depth(frame: pd.DataFrame, bins: int = BINS) -> pd.DataFrame:
    """Mean normalised similarity, and that of the twins, by length and bin of depth (0 the start, 1 the end)."""
    place = np.minimum((frame.depth.to_numpy() * bins).astype(int), bins - 1)
    grouped = frame.assign(bin=(place + 0.5) / bins).groupby(["length", "bin"], sort=True)
    return grouped[["normalised", "chance"]].mean().reset_index()


def auc(positive: np.ndarray, negative: np.ndarray) -> float:
    """Share of pairs in which the positive one is larger, ties counted half."""
    above = (positive[:, None] > negative).mean()
    return float(above + (positive[:, None] == negative).mean() / 2)


def _figures(one: pd.DataFrame) -> dict[str, float]:
    """One question under one setting: its haystacks at all depths."""
    similarity, bare, depth = (one[name].to_numpy(float) for name in ("similarity", "bare", "depth"))
    pooled = np.sqrt((similarity.var(ddof=1) + bare.var(ddof=1)) / 2) if len(one) > 1 else 0.0
    separation, normalised = similarity.mean() - bare.mean(), one.normalised.to_numpy(float)
    centred, spread = depth - depth.mean(), normalised - normalised.mean()
    energy = np.sqrt((centred @ centred) * (spread @ spread))
    return {
        "normalised": normalised.mean(), "chance": one.chance.mean(),
        "preferred": ((similarity > bare) + (similarity == bare) / 2).mean(), "auc": auc(similarity, bare),
        "separation": separation, "cohens_d": separation / pooled if pooled > 0 else np.nan,
        "correlation": centred @ spread / energy if energy > 0 else np.nan,
        "slope": centred @ spread / (centred @ centred) if centred.any() else np.nan,
    }


def _plan(
    tokenizer: Tokenizer, filler: Corpus, seed: int, needles: Sequence[Needle], lengths: Sequence[int],
    depths: Sequence[float],
) -> tuple[list[dict], list[str], list[str]]:
    """Rows to measure, and all texts and questions that they need, with repeats."""
    source, rows = _source(tokenizer, filler), []
    for needle in needles:
        for order, sentence in (("default", needle.default), ("inverted", needle.inverted)):
            size = len(tokenizer.encode([sentence])[0][0])
            for haystack in _haystacks(source, filler.name, seed, size, lengths, depths):
                text = f"{haystack.before} {sentence} {haystack.after}".strip()
                for question, expanded, asked in _questions(needle):
                    rows.append({"needle": needle.id, "category": needle.category, "question": question, "order": order,
                                 "expanded": expanded, "length": haystack.length, "depth": haystack.depth,
                                 "text": asked, "haystack": text, "without": haystack.bare,
                                 "needle_text": needle.default})
    texts = [row[name] for row in rows for name in ("haystack", "without", "needle_text")]
    return rows, texts, [row["text"] for row in rows]


def _questions(needle: Needle) -> list[tuple[str, bool, str]]:
    found = []
    for name, text, more in (("literal", needle.literal, needle.literal_expansion),
                             ("one-hop", needle.one_hop, needle.one_hop_expansion)):
        found += [(name, False, text)] + [(name, True, f"{text} {more}")] * bool(more)
    return found


def _haystacks(
    source: Source, name: str, seed: int, needle: int, lengths: Sequence[int], depths: Sequence[float],
) -> list[Haystack]:
    """Filler around a needle of `needle` tokens: one stretch per length and depth, the same for every needle."""
    text, offsets, starts = source
    longest = max(lengths)
    if len(offsets) < longest or min(lengths) <= needle:
        raise InputError(Problem(f"filler {name!r}", f"has {len(offsets)} tokens; haystacks of {min(lengths)} to "
                                 f"{longest} tokens, a needle of {needle} included, need more or other lengths"))
    found = []
    for length in lengths:
        rng = np.random.default_rng([seed, length])
        for depth in depths:
            first = int(rng.integers(len(offsets) - length + 1))
            last = first + length - needle
            inner = starts[(starts >= first) & (starts <= last)]
            cuts = np.array([first, *inner, last])
            cut = int(cuts[np.abs(cuts - (first + depth * (last - first))).argmin()])
            found.append(Haystack(length, depth, _piece(text, offsets, first, cut), _piece(text, offsets, cut, last),
                                  _piece(text, offsets, first, first + length)))
    return found


def _source(tokenizer: Tokenizer, filler: Corpus) -> Source:
    """All documents of the filler as one text."""
    document = Document(filler.name, "\n\n".join(each.text.strip() for each in filler.documents))
    offsets = tokenizer.encode([document.text])[0][1]
    return document.text, offsets, np.searchsorted(offsets[:, 0], Chunking("sentence").spans(document)[:, 0])


def _piece(text: str, offsets: np.ndarray, first: int, last: int) -> str:
    return text[offsets[first, 0]:offsets[last - 1, 1]] if first < last else ""
