"""Teacher `file`: scores that somebody else worked out, as a parquet with the columns
query, document, start, end, score and, if there is one, logit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from corpora import scores
from corpora.documents import Corpus
from corpora.errors import InputError
from corpora.scores import PairRows
from trainables.data import pairs_of


def score(path: Path, corpus: Corpus) -> Iterator[PairRows]:
    """The file's rows of every pair it scored; refused as a whole if any row is wrong."""
    found = scores.read(path)
    if problems := found.problems(corpus):
        raise InputError(problems)
    for query, document, _ in pairs_of(corpus):
        ids = corpus.queries[query].id, corpus.documents[document].id
        if (rows := found.rows(*ids)) is not None:
            yield PairRows(*ids, *rows)
