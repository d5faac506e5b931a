"""Teacher `late-interaction`: any encoder; a document token scores its best cosine with a query token.

Each document is encoded once, for all its queries. Where windows overlap, a token's score is
the mean. A cosine is no probability and has no logit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModel

from corpora.documents import Corpus
from corpora.scores import PairRows
from corpora.tokens import Tokenizer
from trainables.data import pairs_of
from trainables.loading import quiet
from trainables.teachers.windows import Frame, limit_of, run, windows

_DOCUMENTS_TOGETHER = 64
"""Their token vectors are in memory at a time."""


def score(folder: Path, corpus: Corpus, trust_remote_code: bool = False) -> Iterator[PairRows]:
    """The rows of every pair, one row a token, by the encoder in `folder`."""
    encoder = _TokenEncoder(folder, trust_remote_code)
    pairs = sorted((document, query) for query, document, _ in pairs_of(corpus))
    by_document = [(document, [query for _, query in group]) for document, group in groupby(pairs, key=lambda pair: pair[0])]
    for start in range(0, len(by_document), _DOCUMENTS_TOGETHER):
        together = by_document[start : start + _DOCUMENTS_TOGETHER]
        asked = sorted({query for _, queries in together for query in queries})
        found = encoder.encode([corpus.queries[query].text for query in asked])
        vectors = {query: torch.cat([part for _, part in parts]) for query, (_, parts) in zip(asked, found, strict=True)}
        documents = encoder.encode([corpus.documents[document].text for document, _ in together])
        for (document, queries), (offsets, parts) in zip(together, documents, strict=True):
            for query in queries:
                scores = best_cosines(len(offsets), parts, vectors[query])
                yield PairRows(corpus.queries[query].id, corpus.documents[document].id, *offsets.T, scores)


def best_cosines(tokens: int, parts: Sequence[tuple[int, torch.Tensor]], query: torch.Tensor) -> np.ndarray:
    """float32 [tokens]: the mean over windows of the best cosine with a query vector [query tokens, dim].

    parts: (first token, unit vectors [tokens of the window, dim]).
    """
    total, count = torch.zeros(tokens), torch.zeros(tokens)
    for first, vectors in parts:
        if len(vectors) and len(query):
            total[first : first + len(vectors)] += (vectors @ query.T).amax(1)
        count[first : first + len(vectors)] += 1
    return (total / count.clamp(min=1)).numpy()


class _TokenEncoder:
    def __init__(self, folder: Path, trust_remote_code: bool):
        self.tokenizer = Tokenizer.from_folder(folder)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        with quiet():
            model = AutoModel.from_pretrained(folder, local_files_only=True, trust_remote_code=trust_remote_code)
        self.model = model.float().eval().to(device)
        self.frame = Frame.of(self.tokenizer.backend, 1)
        self.width = limit_of(self.model.config) - self.frame.specials

    def encode(self, texts: Sequence[str]) -> list[tuple[np.ndarray, list[tuple[int, torch.Tensor]]]]:
        """For each text: character offsets int32 [tokens, 2], and (first token, unit vectors) for each window."""
        encodings = self.tokenizer.encode(texts)
        spans = [(text, *span) for text, (ids, _) in enumerate(encodings) for span in windows(len(ids), self.width)]
        framed = [self.frame.around(encodings[text][0][start:end]) for text, start, end in spans]
        found: list[list[tuple[int, torch.Tensor]]] = [[] for _ in texts]
        for place, output in run(self.model, [(ids, segments) for ids, segments, _ in framed]):
            text, start, end = spans[place]
            first = framed[place][2]
            found[text].append((start, torch.nn.functional.normalize(output[first : first + end - start], dim=1)))
        return [(offsets, sorted(parts, key=lambda part: part[0])) for (_, offsets), parts in zip(encodings, found, strict=True)]
