"""Everything that all trials share, made once before the first of them starts (DESIGN section 1).

Splits, base+, tokens and chunks, teacher scores, the inline sample: content-addressed
under `store/`, so that a resumed or a second sweep finds them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora import native
from corpora.documents import Corpus
from corpora.errors import InputError, Problem
from corpora.files import build_folder, write_atomically
from corpora.prepared import prepare
from corpora.splits import cut, freeze
from corpora.tokens import Tokenizer
from sweeps.config import SweepConfig
from sweeps.corpora_config import CutCorpora, GeneratedCorpora, SplitCorpora, train_corpora
from sweeps.data_hash import data_hashes
from sweeps.space import candidates
from trainables.base import build_base
from trainables.data import TrainingData
from trainables.inline import inline_sample
from trainables.mixture import Mixture
from trainables.teachers import score

Say = Callable[[str], None]

CORPORA = "corpora"
"""Folder of the splits that a sweep makes itself."""
MADE_BY = "made_by.json"
"""Beside the splits that a sweep makes: how they were cut or generated."""


@dataclass(frozen=True)
class Preparation:
    """Folders that trials and evaluations open. `splits`: native corpora by split, one or more each."""

    base: Path
    data: Path
    inline: Path
    splits: dict[str, tuple[Path, ...]]
    hashes: dict[str, str]

    @property
    def places(self) -> list[Path]:
        """All files and folders that a machine must hold to train, to evaluate and to take the sweep over."""
        store = self.base.parent.parent
        splits = [place for places in self.splits.values() for place in places]
        about = [file for file in sorted((store.parent / CORPORA).glob("*")) if file.is_file()]
        return [*sorted(store.glob("*/*")), *splits, *about]


def prepare_sweep(config: SweepConfig, folder: Path, say: Say) -> Preparation:
    folder = Path(folder)
    store = folder / "store"
    splits = split_corpora(config, folder, say)
    corpora = {split: [native.read(place) for place in places] for split, places in splits.items()}
    say(f"building base+ from {config.student.encoder}")
    base = build_base(config.student, store)
    tokenizer = Tokenizer.from_folder(base)
    parts = [_training_data(config, part, tokenizer, store, say) for part in corpora["train"]]
    data = Mixture.build(parts, [one.weight for one in train_corpora(config.corpora)] or [1.0], store)
    sample = inline_sample(corpora["dev"][0], config.evaluation.inline_queries, config.search.seed)
    inline = build_folder(store / "inline" / sample.sha256[:12], lambda beside: native.write(sample, beside))
    return Preparation(base, data, inline, splits, data_hashes(corpora))


def _training_data(config: SweepConfig, corpus: Corpus, tokenizer: Tokenizer, store: Path, say: Say) -> Path:
    say(f"tokenising {len(corpus.documents)} training documents of {corpus.name}")
    prepared = prepare(corpus, tokenizer, chunkings_in_play(config), store / "prepared")
    say(f"scoring with the teacher `{config.teacher.kind}`")
    return TrainingData.build(corpus, prepared, tokenizer, score(config.teacher, corpus, store), store)


def chunkings_in_play(config: SweepConfig) -> list[str]:
    """Every chunking that some trial's mix may draw."""
    mixes = candidates(config.space.entries.get("chunking_mix", {"sentence": 1.0}))
    return sorted({chunking for mix in mixes for chunking in mix})


def split_corpora(config: SweepConfig, folder: Path, say: Say) -> dict[str, tuple[Path, ...]]:
    """Where each split lies; what is cut or generated is written once and frozen by its content."""
    corpora = config.corpora
    if isinstance(corpora, SplitCorpora):
        named = {split: getattr(corpora, split) for split in ("dev", "confirm", "test")}
        return _trained_on(corpora) | {split: tuple(map(Path, places)) for split, places in named.items() if places}
    written = folder / CORPORA
    if not written.exists():
        build_folder(written, lambda beside: _write_splits(corpora, beside, say))
    _check_made_by(corpora, written)
    return _trained_on(corpora) | {place.name: (place,) for place in sorted(written.iterdir()) if place.is_dir()}


def _trained_on(corpora: CutCorpora | SplitCorpora | GeneratedCorpora) -> dict[str, tuple[Path, ...]]:
    apart = train_corpora(corpora)
    return {"train": tuple(Path(one.folder) for one in apart)} if apart else {}


def _write_splits(corpora: CutCorpora | GeneratedCorpora, beside: Path, say: Say) -> None:
    if isinstance(corpora, CutCorpora):
        say(f"cutting {corpora.folder} by family")
        whole = native.read(Path(corpora.folder))
        parts = cut(whole, corpora.shares, corpora.seed, corpora.threshold)
        freeze(beside, whole, parts)
    else:
        from corpora.generator import demo_splits

        say(f"generating the built-in corpus, size {corpora.generate}, seed {corpora.seed}")
        parts = demo_splits(corpora.seed, corpora.generate)
    for split, part in parts.items():
        native.write(part, beside / split)
    write_atomically(beside / MADE_BY, json.dumps(_how(corpora), sort_keys=True))


def _how(corpora: CutCorpora | GeneratedCorpora) -> dict[str, Any]:
    """What decides the splits apart from what the folder holds; folders may move."""
    return corpora.model_dump(mode="json", exclude={"folder", "train"})


def _check_made_by(corpora: CutCorpora | GeneratedCorpora, written: Path) -> None:
    """Splits are frozen on first use: a config that asks for others must not find these."""
    made_by = written / MADE_BY
    if not made_by.exists():
        return
    try:
        recorded = json.loads(made_by.read_bytes())
    except ValueError as error:
        raise InputError(Problem(str(made_by), f"is damaged ({error}): remove {written}, and the same splits are made again")) from None
    if recorded != _how(corpora):
        raise InputError(Problem("corpora", f"{written} holds splits made by {recorded}; this sweep asks for {_how(corpora)}: "
                                 "give another --out, or undo the change"))  # fmt: skip
