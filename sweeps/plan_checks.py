"""What is wrong or odd about a sweep before it starts, beyond what its YAML alone shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from corpora import scores
from corpora.documents import Corpus
from corpora.errors import InputError, Problem
from sweeps.config import SweepConfig
from sweeps.plan_inputs import Splits
from sweeps.space import candidates, default_of


def teacher_problems(config: SweepConfig) -> Iterator[Problem]:
    teacher = config.teacher
    if teacher.kind == "spans" or teacher.path == "minilm":
        return
    if teacher.path is None:
        yield Problem("teacher.path", f"is missing: a teacher of kind {teacher.kind} lies somewhere")
    elif teacher.kind == "file" and not Path(teacher.path).is_file():
        yield Problem("teacher.path", f"{teacher.path} is no file")
    elif teacher.kind == "file":
        try:
            scores.check(Path(teacher.path))
        except InputError as error:
            yield from (Problem("teacher.path", str(problem)) for problem in error.problems)
    elif teacher.kind != "file" and not Path(teacher.path).is_dir():
        yield Problem("teacher.path", f"{teacher.path} is no folder")


def process_problems(config: SweepConfig) -> Iterator[Problem]:
    """Several GPUs a trial are as many processes, which share each batch: both must allow it."""
    from trainables.trainers import trainer_of

    processes = config.resources.processes
    if processes == 1:
        return
    if not getattr(trainer_of(config.trainer), "shares_batches", False):
        cure = "give 1 at most, or let it share its batches and say so (docs/own-trainer.md)"
        yield Problem("resources.gpus", f"{processes} for each trial, of which `{config.trainer}` would use one: {cure}")
        return
    model = config.space.model
    if "documents_per_batch" not in model.model_fields:
        return
    smallest = min(candidates(config.space.entries.get("documents_per_batch", default_of("documents_per_batch", model))))
    if smallest < processes:
        yield Problem("recipe.documents_per_batch", f"{smallest} for {processes} GPUs a trial: each needs at least one document")


def chunking_problems(config: SweepConfig, splits: Splits) -> Iterator[Problem]:
    """`given` chunkings need corpora that hold chunks."""
    mixes = list(candidates(config.space.entries.get("chunking_mix", {})))
    asked = {"train": any("given" in mix for mix in mixes)}
    asked["dev"] = config.evaluation.chunking == "given" or "conteb" in config.evaluation.suites
    keys = {"train": "recipe.chunking_mix", "dev": "evaluation"}
    for split, wanted in asked.items():
        for corpus in splits.get(split, []) if wanted else []:
            lacking = sum(document.chunks is None for document in corpus.documents)
            if lacking:
                yield Problem(
                    keys[split],
                    f"asks for `given` chunks; {lacking} documents of {split} corpus {corpus.name} have none",
                )


def split_problems(splits: Splits) -> Iterator[Problem]:
    """Splits that nothing can be learned from, or measured on."""
    for split, parts in splits.items():
        for corpus in parts:
            if not corpus.queries:
                yield Problem(f"corpora.{split}", f"{corpus.name} has {len(corpus.documents)} documents and no query: "
                              f"there is nothing to {'learn from' if split == 'train' else 'measure on'} it")
    asked = {split: _questions(parts) for split, parts in splits.items()}
    for one, other in combinations(splits, 2):
        if asked[other] and asked[other] <= asked[one]:
            yield Problem(f"corpora.{other}", f"asks nothing that {one} does not ask, of the same texts: its figures would say what was "
                          "learned by heart. Cut one corpus by family: `corpora: {folder: DIR}`, or `stockpot corpus split`")


def _questions(parts: Sequence[Corpus]) -> set[tuple[str, str]]:
    """(query, text of a document that it names): publishers ask the same question of many documents."""
    return {(query.text.strip(), part.documents[part.position[target.document]].text)
            for part in parts for query in part.queries for target in query.targets}  # fmt: skip


def _shared(splits: Splits) -> Iterator[Problem]:
    asked = {split: _questions(parts) for split, parts in splits.items()}
    texts = {split: [document.text for part in parts for document in part.documents] for split, parts in splits.items()}
    known = {split: set(held) for split, held in texts.items()}
    for one, other in combinations(splits, 2):
        shared = sum(text in known[one] for text in texts[other])
        if shared:
            both = len(asked[one] & asked[other])
            yield Problem(f"corpora.{other}", f"{shared} of its {len(texts[other])} documents, and {both} of its {len(asked[other])} pairs of a query and a document, "
                          f"stand in {one} too: figures on them say little of new texts")


def warnings(config: SweepConfig, splits: Splits) -> Iterator[Problem]:
    from corpora.splits import family_count
    from sweeps.soup.certify import FAMILIES

    yield from _shared(splits)
    if "confirm" not in splits:
        yield Problem("corpora.confirm", "is absent: no soup can be certified, the best single checkpoint ships")
    else:
        families = sum(family_count(corpus) for corpus in splits["confirm"])
        if families < FAMILIES:
            yield Problem("corpora.confirm", f"has {families} families; under {FAMILIES} no soup can be certified")
    for key in ("hours", "gpu_hours") if config.order == "deterministic" else ():
        if getattr(config.budget, key):
            yield Problem(
                f"budget.{key}", "how many trials fit depends on timing, which `order: deterministic` promises not to"
            )
    steps = list(candidates(config.space.entries.get("steps", default_of("steps", config.space.model))))
    slopes = {name: max(candidates(config.space.entries.get(name, default_of(name, config.space.model))))
              for name in ("warmup_steps", "decay_steps") if name in config.space.entries}  # fmt: skip
    if sum(slopes.values()) > min(steps):
        told = " and ".join(f"{name} {count}" for name, count in slopes.items())
        yield Problem("recipe.steps", f"{min(steps)} steps cannot hold {told}: the learning rate turns before it has risen whole")
    if config.scheduler.kind == "pbt" and config.scheduler.perturb_every >= max(steps):
        yield Problem("scheduler.perturb_every", f"no trial has more than {max(steps)} steps: nothing will be taken over")
    if config.scheduler.kind in ("asha", "median") and config.scheduler.grace >= max(steps):
        yield Problem("scheduler.grace", f"no trial has more than {max(steps)} steps: nothing will be stopped")
    points, asked = config.space.size, config.search.trials
    if points is not None and asked is not None and points < asked:
        yield Problem("search.trials", f"the space has {points} points only: {points} trials")
