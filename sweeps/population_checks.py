"""What keeps `scheduler: {kind: pbt}` from going with the rest of a sweep's YAML."""

from __future__ import annotations

from collections.abc import Iterator

from corpora.errors import Problem
from corpora.wording import nearest
from sweeps.search_config import SchedulerConfig
from sweeps.space import Space, candidates, default_of
from sweeps.space_reading import conditions


def mutated(scheduler: SchedulerConfig, space: Space) -> tuple[str, ...]:
    """The fields that change: those named, by default every searched one that can."""
    return scheduler.mutate or tuple(name for name in space.searched if name in space.model.CHANGEABLE)


def problems(scheduler: SchedulerConfig, space: Space, order: str) -> Iterator[Problem]:
    if scheduler.kind != "pbt":
        return
    if order == "deterministic":
        yield Problem("order", "deterministic does not go with scheduler.kind pbt: who takes over from whom depends on which "
                      "trials have come as far by then; give `order: asynchronous`, or another scheduler")  # fmt: skip
    yield from _interval_problems(scheduler, space)
    named = list(_field_problems(scheduler, space))
    yield from named
    if not named:
        yield from _condition_problems(mutated(scheduler, space), space)


def _interval_problems(scheduler: SchedulerConfig, space: Space) -> Iterator[Problem]:
    """A trial changes at one of its checkpoints, where every other one has one, too."""
    entry = space.entries.get("checkpoint_every", default_of("checkpoint_every", space.model))
    odd = [every for every in candidates(entry) if scheduler.perturb_every % every]
    if odd:
        yield Problem("scheduler.perturb_every", f"{scheduler.perturb_every} is no multiple of recipe.checkpoint_every "
                      f"{', '.join(map(str, odd))}: a trial changes at one of its checkpoints")  # fmt: skip


def _field_problems(scheduler: SchedulerConfig, space: Space) -> Iterator[Problem]:
    changeable = space.model.CHANGEABLE
    allowed = ", ".join(changeable) or "none: its trainer's Recipe names them as CHANGEABLE (docs/own-trainer.md)"
    for place, name in enumerate(scheduler.mutate):
        where = f"scheduler.mutate.{place}"
        if name not in space.model.model_fields:
            yield Problem(where, f"{name} is no field of the recipe{nearest(name, changeable or [allowed])}")
        elif name not in changeable:
            yield Problem(where, f"{name} cannot change in mid-trial; allowed: {allowed}")
        elif name not in space.searched:
            yield Problem(where, f"recipe.{name} is fixed: new values are drawn from what recipe.{name} searches")
    if not mutated(scheduler, space):
        yield Problem("scheduler.mutate", f"recipe searches nothing that can change in mid-trial; such are: {allowed}")


def _condition_problems(names: tuple[str, ...], space: Space) -> Iterator[Problem]:
    """What depends on a field that changes would change with it."""
    for name, entry in space.entries.items():
        upon = [key for key in conditions(entry) if key in names]
        if upon and name not in names:
            may = name in space.searched and name in space.model.CHANGEABLE
            cure = f"name {name}, too, or leave {', '.join(upon)} out" if may else f"leave {', '.join(upon)} out"
            yield Problem("scheduler.mutate", f"recipe.{name} depends on {', '.join(upon)}: {cure}")
