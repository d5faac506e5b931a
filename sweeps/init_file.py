"""`stockpot init`: a commented sweep that suits a corpus, with the reasons in its comments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corpora import native
from corpora.documents import Corpus
from corpora.errors import InputError, Problem
from corpora.files import write_atomically
from sweeps import config as sweep_config
from sweeps import init_sections as sections
from sweeps import plan as planning
from sweeps.init_facts import Facts, facts
from sweeps.init_wishes import Wishes

COMMENTS = 54  # the column where they begin


def write_init(wishes: Wishes, file: Path, force: bool = False) -> planning.Plan:
    """Writes the sweep, once it has passed `stockpot plan`; nothing is overwritten without `force`."""
    file = Path(file)
    if file.exists() and not force:
        raise InputError(Problem(str(file), "exists already, and nothing is overwritten without --force"))
    text = init_text(wishes, file)
    planned: list[planning.Plan] = []

    def checked(beside: Path) -> None:
        beside.write_text(text, encoding="utf-8")
        planned.append(planning.plan(sweep_config.load(beside)))

    write_atomically(file, checked)
    return planned[0]


def init_text(wishes: Wishes, file: Path) -> str:
    wishes.check()
    here = file.absolute().parent
    train, dev = _look(wishes)
    encoder = _encoder(wishes.encoder)
    parts = [
        sections.head(wishes, file),
        sections.corpora(wishes, train, here),
        sections.student(wishes, train, encoder, here),
        sections.recipe(wishes, train, dev, encoder),
        sections.search(wishes, train, dev),
        sections.evaluation(wishes, dev, encoder),
        sections.rest(wishes),
    ]
    return "\n\n".join("\n".join(map(_aligned, part)) for part in parts) + "\n"


def _aligned(line: str) -> str:
    """Comments behind a tab stand under each other."""
    code, tab, comment = line.partition("\t")
    return code.ljust(COMMENTS - 1) + " " + comment if tab else line


def _look(wishes: Wishes) -> tuple[Facts | None, Facts | None]:
    """(what is trained on, what is judged on); None for the built-in corpus. One that is cut serves for both."""
    problems: list[Problem] = []
    train = _read("--train", [wishes.train] if wishes.train else [], problems)
    dev = _read("--corpus", [wishes.corpus], problems) if wishes.corpus else _read("--dev", wishes.dev, problems)
    if problems:
        raise InputError(problems)
    judged = facts(dev) if dev else None
    return (facts(train) if train else judged), judged


def _read(option: str, folders: Sequence[Path], problems: list[Problem]) -> list[Corpus]:
    found = []
    for folder in folders:
        if not folder.is_dir():
            problems.append(Problem(option, f"{folder} is no folder; `stockpot corpus import` makes one of other formats"))
            continue
        splits = sorted(inside.parent.name for inside in folder.glob(f"*/{native.DOCUMENTS}"))
        if splits and not (folder / native.DOCUMENTS).exists():
            problems.append(Problem(option, f"{folder} holds the splits {', '.join(splits)}: give each by its option, as in --train {folder}/train --dev {folder}/dev"))
            continue
        try:
            found.append(native.read(folder))
        except InputError as error:
            problems += error.problems
    return found


def _encoder(encoder: str) -> dict[str, Any]:
    from trainables.base import encoder_folder

    folder = encoder_folder(encoder)
    try:
        about = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        if not isinstance(about, dict):
            raise ValueError("it holds no object")
        return about
    except (OSError, ValueError) as error:
        raise InputError(Problem("--encoder", f"{folder}: config.json cannot be read ({error})")) from None
