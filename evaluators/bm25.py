"""BM25 over chunks, the lexical baseline row: a `Scorer` that shares every metric with the vector models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corpora.chunks import ChunkTable
from corpora.documents import Corpus
from corpora.tokens import Tokenizer
from evaluators.budget import TOKEN


class BM25:
    """Lucene's BM25 (k1 1.5, b 0.75) by bm25s, over lower-cased words; a chunk knows nothing of its document."""

    name = "bm25"
    contextual = False

    def __init__(self, tokenizer: Tokenizer | None = None):
        """`tokenizer` cuts `tokens:N` for the chunk-size suite; words are BM25's own."""
        self.tokenizer = tokenizer

    def scores(self, texts: Sequence[str], corpus: Corpus, table: ChunkTable) -> np.ndarray:
        import bm25s

        chunks = [words(corpus.documents[document].text[start:stop])
                  for document, (start, stop) in zip(table.document.tolist(), table.span.tolist(), strict=True)]
        if not any(chunks):
            return np.zeros((len(texts), len(table)), np.float32)
        model = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
        model.index(chunks, show_progress=False)
        found = np.zeros((len(texts), len(table)), np.float32)
        for row, text in enumerate(texts):
            known = [word for word in words(text) if word in model.vocab_dict]
            if known:
                found[row] = model.get_scores(known)
        return found


def words(text: str) -> list[str]:
    return TOKEN.findall(text.lower())
