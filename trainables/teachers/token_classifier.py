"""Teacher `token-classifier`: models that read query and document and say which tokens to keep.

The kind of Provence and OpenProvence: score = probability of the label that keeps the token,
logit = its log-odds. The document is read in overlapped windows behind the whole query;
where windows overlap, both are means.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForTokenClassification

from corpora.documents import Corpus
from corpora.errors import InputError, Problem
from corpora.scores import PairRows
from corpora.tokens import Tokenizer
from trainables.data import pairs_of
from trainables.loading import quiet
from trainables.teachers.windows import Frame, limit_of, run, windows

_KEEP = {"keep", "kept", "relevant", "positive", "true", "yes", "1", "label_1"}
_SHORTEST = 16
"""Document tokens that must fit into a window beside the query."""


def score(folder: Path, corpus: Corpus, trust_remote_code: bool = False) -> Iterator[PairRows]:
    """The rows of every pair, one row a document token, by the model in `folder`."""
    tokenizer = Tokenizer.from_folder(folder)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with quiet():
        model = AutoModelForTokenClassification.from_pretrained(
            folder, local_files_only=True, trust_remote_code=trust_remote_code)
    model = model.float().eval().to(device)
    keep, frame = keep_label(model.config, folder), Frame.of(tokenizer.backend, 2)
    queries = [ids for ids, _ in tokenizer.encode([query.text for query in corpus.queries])]
    _refuse_long_queries(corpus, queries, limit_of(model.config) - frame.specials)
    document, ids, offsets = -1, np.empty(0), np.empty((0, 2))
    for place, query in sorted((place, query) for query, place, _ in pairs_of(corpus)):
        if place != document:
            document, (ids, offsets) = place, tokenizer.encode([corpus.documents[place].text])[0]
        spans = windows(len(ids), limit_of(model.config) - frame.specials - len(queries[query]))
        framed = [frame.around(queries[query], ids[start:end]) for start, end in spans]
        totals, count = np.zeros((2, len(ids))), np.zeros(len(ids))
        for window, output in run(model, [(tokens, segments) for tokens, segments, _ in framed]):
            (start, end), first = spans[window], framed[window][2]
            logit = log_odds(output[first : first + end - start], keep)
            totals[:, start:end] += torch.stack([logit.sigmoid(), logit]).numpy()
            count[start:end] += 1
        scores, logits = (totals / count).astype(np.float32)
        yield PairRows(corpus.queries[query].id, corpus.documents[place].id, *offsets.T, scores, logits)


def log_odds(logits: torch.Tensor, keep: int) -> torch.Tensor:
    """[tokens, labels] -> [tokens]: log p(keep) / (1 - p(keep)); a single label is its own log-odds."""
    if logits.shape[1] == 1:
        return logits[:, 0]
    others = [label for label in range(logits.shape[1]) if label != keep]
    return logits[:, keep] - logits[:, others].logsumexp(1)


def keep_label(config, folder: Path) -> int:
    """The label that keeps a token, by its name; the second of two unnamed ones."""
    if config.num_labels == 1:
        return 0
    named = [label for label, name in config.id2label.items() if str(name).lower() in _KEEP]
    if len(named) == 1:
        return int(named[0])
    if config.num_labels == 2:
        return 1
    found = ", ".join(map(str, config.id2label.values()))
    raise InputError(Problem(f"{folder}/config.json: id2label", f"no label that keeps a token among {found}; name one `keep`"))


def _refuse_long_queries(corpus: Corpus, queries: list[np.ndarray], room: int) -> None:
    problems = [
        Problem(f"query {query.id!r}", f"has {len(ids)} tokens; the token classifier reads {room} with the document: shorten it")
        for query, ids in zip(corpus.queries, queries, strict=True)
        if len(ids) > room - _SHORTEST
    ]
    if problems:
        raise InputError(problems)
