"""What a plan reads: the corpora by split and the encoder's sizes, with what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corpora.documents import Corpus
from corpora.errors import InputError, Problem
from sweeps.config import SweepConfig
from sweeps.corpora_config import CutCorpora, GeneratedCorpora, SplitCorpora
from sweeps.estimates import CorpusSize, ModelSize

Splits = dict[str, list[Corpus]]
SIZES = {"num_hidden_layers": 12, "max_position_embeddings": 512, "hidden_size": 768, "intermediate_size": 0, "vocab_size": 30522}
"""What an encoder's config.json says of its size, and what holds where it does not: BERT's; 0: four times the width."""


def read_splits(config: SweepConfig, problems: list[Problem]) -> Splits:
    """The corpora by split, as far as they can be read."""
    corpora = config.corpora
    if isinstance(corpora, GeneratedCorpora):
        from corpora.generator import demo_splits

        return {split: [part] for split, part in demo_splits(corpora.seed, corpora.generate).items()}
    if isinstance(corpora, SplitCorpora):
        named = {"train": [one.folder for one in corpora.train]} | {split: getattr(corpora, split) for split in ("dev", "confirm", "test")}
        read = {split: [_read(split, folder, problems) for folder in folders] for split, folders in named.items()}
        return {split: [part for part in parts if part] for split, parts in read.items() if any(parts)}
    return _cut(corpora, problems)


def _cut(corpora: CutCorpora, problems: list[Problem]) -> Splits:
    from corpora.splits import cut

    apart = [part for one in corpora.train if (part := _read("train", one.folder, problems))]
    whole = _read("folder", corpora.folder, problems)
    if whole is None:
        return {}
    try:
        parts = cut(whole, corpora.shares, corpora.seed, corpora.threshold)
    except InputError as error:
        problems += [Problem("corpora.folder", str(problem)) for problem in error.problems]
        return {}
    return ({"train": apart} if apart else {}) | {split: [part] for split, part in parts.items()}


def _read(key: str, folder: str, problems: list[Problem]) -> Corpus | None:
    from corpora import native

    try:
        return native.read(Path(folder))
    except InputError as error:
        problems += [Problem(f"corpora.{key}", str(problem)) for problem in error.problems]
        return None


def size_of(parts: Sequence[Corpus]) -> CorpusSize:
    documents = [document for part in parts for document in part.documents]
    return CorpusSize(len(documents), sum(len(part.queries) for part in parts), sum(len(d.text) for d in documents))


def read_model(config: SweepConfig, problems: list[Problem]) -> ModelSize | None:
    from trainables.base import encoder_folder

    try:
        about = json.loads((encoder_folder(config.student.encoder) / "config.json").read_text())
        sizes = {name: _size_in(about, name) for name in SIZES}
    except InputError as error:
        problems += error.problems
        return None
    except (OSError, ValueError) as error:
        problems.append(Problem("student.encoder", f"{config.student.encoder}: config.json cannot be read ({error})"))
        return None
    layers, window, width = sizes["num_hidden_layers"], sizes["max_position_embeddings"], sizes["hidden_size"]
    if config.student.layers and config.student.layers > layers:
        problems.append(
            Problem("student.layers", f"{config.student.layers} asked, {config.student.encoder} has {layers}")
        )
    if config.student.window and config.student.window > window:
        problems.append(
            Problem("student.window", f"{config.student.window} asked, {config.student.encoder} reads {window} tokens")
        )
    return ModelSize(
        config.student.layers or layers, width, sizes["intermediate_size"] or 4 * width, sizes["vocab_size"],
        config.student.window or window, config.student.dimension,
    )  # fmt: skip


def _size_in(about: Any, name: str) -> int:
    if not isinstance(about, dict):
        raise ValueError("it holds no object")
    size = about.get(name, SIZES[name])
    if name in about and (not isinstance(size, int) or isinstance(size, bool) or size < 1):
        raise ValueError(f"{name} is {size!r}, a number over 0 is needed")
    return size
