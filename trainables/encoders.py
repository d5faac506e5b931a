"""Every encoder that can be named in a word: checkpoints, the baselines, folders of others, a factory of one's own.

    FOLDER                          a checkpoint, a soup or a base+ (the untrained student)
    isolated, isolated:FOLDER       a transformers encoder, MiniLM unless named, over each chunk alone
    late, late:FOLDER               the same over whole documents, chunks pooled afterwards
    sentence-transformers:FOLDER    a sentence-transformers folder over each chunk alone
    bm25                            words, no vectors
"""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path

from corpora.errors import InputError, Problem, StockpotError
from evaluators.encoder import Encoder, Scorer
from trainables.base import MINILM

CHECKPOINT, ISOLATED, LATE, BM25 = "checkpoint", "isolated", "late", "bm25"
SENTENCE_TRANSFORMERS = "sentence-transformers"


def named(word: str) -> tuple[str, str]:
    """(kind, model) of a word in the table above."""
    kind, colon, model = word.partition(":")
    if kind in (ISOLATED, LATE):
        return kind, model or MINILM
    if word == BM25:
        return BM25, ""
    if kind == SENTENCE_TRANSFORMERS and not model:
        raise InputError(Problem(word, f"names no folder: write {SENTENCE_TRANSFORMERS}:FOLDER"))
    return (kind, model) if colon and kind == SENTENCE_TRANSFORMERS else (CHECKPOINT, word)


def encoder_of(kind: str, model: str, device: str = "cpu") -> Encoder | Scorer:
    if kind == BM25:
        from evaluators.bm25 import BM25 as Words

        return Words()
    if kind == ISOLATED:
        from trainables.baselines import IsolatedEncoder

        return IsolatedEncoder.load(model, f"{ISOLATED}:{Path(model).resolve().name}", device)
    if kind == LATE:
        from trainables.late import LateEncoder

        return LateEncoder.load(model, f"{LATE}:{Path(model).resolve().name}", device)
    if kind == SENTENCE_TRANSFORMERS:
        from trainables.sentence_transformer import SentenceTransformerEncoder

        return SentenceTransformerEncoder.load(model, f"{SENTENCE_TRANSFORMERS}:{Path(model).resolve().name}", device)
    from trainables.student import StudentEncoder

    return StudentEncoder.load(Path(model), device=device)


def own(spec: str) -> Encoder | Scorer:
    """What the function `module.path:factory` returns, called without arguments; the current folder is searched too.

    It runs the user's own code, so nothing but an explicit wish may lead here.
    """
    module, colon, factory = spec.partition(":")
    if not (module and colon and factory):
        raise InputError(Problem("--encoder", f"takes module.path:factory, found {spec!r}"))
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        make = getattr(importlib.import_module(module), factory, None)
        if not callable(make):
            raise InputError(Problem(f"--encoder {spec}", f"{module} has no function {factory!r}"))
        made = make()
    except StockpotError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename}:{last.lineno}"
        raise InputError(Problem(f"--encoder {spec}", f"{type(error).__name__}: {error} ({where})")) from None
    if not isinstance(made, Encoder | Scorer):
        lacking = [name for name in ("name", "dimension", "quantiser", "contextual", "tokenizer", "queries", "documents")
                   if not hasattr(made, name)]
        raise InputError(Problem(f"--encoder {spec}", f"gave a {type(made).__name__} without {', '.join(lacking)}: "
                                 "see Encoder and Scorer in evaluators/encoder.py"))
    return made
