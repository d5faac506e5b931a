"""Teachers say how much each piece of a document answers a query; scored once, kept by content.

Rows are (start, end, score, logit) over characters, never token indices, so temperatures,
top-n, chunkings and students can be swept without calling a teacher again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from corpora import scores
from corpora.documents import Corpus
from corpora.errors import InputError, Problem
from corpora.files import sha256_of
from corpora.scores import PairRows
from trainables.checkpoints import digest
from trainables.recipe import TeacherConfig

_FORMAT = 1
"""Part of every name: raise it when the same config would give other rows."""


def score(config: TeacherConfig, corpus: Corpus, store: Path) -> Path:
    """The file store/scores/<hash>.parquet with the rows of every pair, scored if it is not there."""
    identity = {"format": _FORMAT, "corpus": corpus.sha256, **_identity(config)}
    path = Path(store) / "scores" / f"{digest(identity)}.parquet"
    if not path.exists():
        scores.write(path, _with_characters(_rows(config, corpus)))
    return path


def _identity(config: TeacherConfig) -> dict[str, object]:
    """What decides the rows: for files and models their content, not where they lie."""
    if config.kind == "spans":
        return config.model_dump(include={"kind", "seed", "smoothing", "noise"})
    if config.kind == "file":
        return {"kind": config.kind, "content": sha256_of(_path(config))}
    folder = _path(config)
    kept = [path for path in sorted(folder.iterdir()) if path.suffix in {".json", ".safetensors", ".bin", ".py"}]
    return {"kind": config.kind, "content": {path.name: sha256_of(path) for path in kept}}


def _rows(config: TeacherConfig, corpus: Corpus) -> Iterator[PairRows]:
    """The heavy teachers are imported only when they are asked."""
    if config.kind == "spans":
        from trainables.teachers import spans

        return spans.score(config, corpus)
    if config.kind == "file":
        from trainables.teachers import file

        return file.score(_path(config), corpus)
    if config.kind == "late-interaction":
        from trainables.teachers import late_interaction

        return late_interaction.score(_path(config), corpus, config.trust_remote_code)
    from trainables.teachers import token_classifier

    return token_classifier.score(_path(config), corpus, config.trust_remote_code)


def _path(config: TeacherConfig) -> Path:
    if config.path is None:
        raise InputError(Problem("teacher.path", f"is missing: `{config.kind}` needs " + (
            "a parquet file of scores" if config.kind == "file" else "a model folder")))
    if config.kind == "late-interaction":
        from trainables.base import encoder_folder

        return encoder_folder(config.path)
    path = Path(config.path)
    if not (path.is_file() if config.kind == "file" else path.is_dir()):
        raise InputError(Problem("teacher.path", f"{path} is no {'file' if config.kind == 'file' else 'folder'}"))
    return path


def _with_characters(pairs: Iterable[PairRows]) -> Iterator[PairRows]:
    """Drops rows of no characters: some tokenizers make tokens that stand for nothing in the text."""
    for pair in pairs:
        solid = pair.ends > pair.starts
        logits = None if pair.logits is None else pair.logits[solid]
        yield replace(pair, starts=pair.starts[solid], ends=pair.ends[solid], scores=pair.scores[solid], logits=logits)
