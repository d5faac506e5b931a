"""A trial as Ray Tune runs it: a sequence of reports that can be replayed.

Each Tune step trains to the next checkpoint, reads the inline metric off it and writes
the report beside the checkpoint. A trial that starts again (its worker died, the driver
was killed, the node was taken) repeats the reports that lie on disk, trains nothing
twice, and goes on from the last checkpoint: what it reports never depends on timing.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from ray import tune

from corpora.errors import StockpotError
from corpora.files import write_atomically
from corpora.mirror import Mirror
from trainables import exploits
from trainables.checkpoints import drop_older_states
from trainables.recipe import LoopRecipe


def checkpoint_steps(recipe: LoopRecipe) -> list[int]:
    """The optimiser steps after which a trial reports; the last one always does."""
    return [*range(recipe.checkpoint_every, recipe.steps, recipe.checkpoint_every), recipe.steps]


class TuneTrial(tune.Trainable):
    """`config`: `ordinal`, `trainer` (as the sweep's YAML spells it, None for the built-in one), `recipe` (all its
    fields), `trust_remote_code`, `chunking` of the inline metric, the folders `data`, `base`, `inline` and `folder`, `storage`:
    (root of the sweep, URI) where machines share no disk, else None; and `perturb_every`: after how many steps trials may
    take over one another's checkpoints (trainables/exploits.py), None where they never do; and `processes` (1), which share each
    batch (trainables/crew.py)."""

    _crew = None

    def setup(self, config: dict[str, Any]) -> None:
        self._begin(config)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Takes over a warm worker: nothing of the trial before is kept."""
        self._begin(new_config)
        return True

    def cleanup(self) -> None:
        self._part()

    def _part(self) -> None:
        if self._crew:
            self._crew.close()
        self._crew = None

    def _begin(self, config: dict[str, Any]) -> None:
        self._part()
        self._config = config
        self._recipe = LoopRecipe.model_validate({name: config["recipe"][name] for name in LoopRecipe.model_fields})
        self._folder = Path(config["folder"])
        self._steps = iter(checkpoint_steps(self._recipe))
        self._reported = 0
        self._mirror = Mirror(*config["storage"]) if config["storage"] else None
        if self._mirror:
            self._mirror.have_folders("store")
            own = self._mirror.name(self._folder)
            self._mirror.have_files(f"{own}/reports/*.json")
            self._mirror.have_folders(own)

    def step(self) -> dict[str, Any]:
        until = next(self._steps)
        path = self._folder / "reports" / f"step-{until:06d}.json"
        from trainables.loading import trusting

        try:
            if not path.exists():
                with trusting(self._config["trust_remote_code"]):
                    report = self._train(until)
                write_atomically(path, json.dumps(report, sort_keys=True))
                if self._mirror:
                    self._mirror.keep([self._folder / report["checkpoint"], path])
                drop_older_states(self._folder, until, kept_every=self._config["perturb_every"])
        except StockpotError as error:
            # Told, not raised: Tune would run the same recipe into the same wall again.
            return {"until": until, "failed": str(error), "done": True}
        self._reported = until
        return {"until": until, "report": str(path), "done": until == self._recipe.steps}

    def _train(self, until: int) -> dict[str, Any]:
        from trainables.crew import Crew
        from trainables.gpu_share import given_gpus, keep_to_share
        from trainables.inline import inline_metrics
        from trainables.usage import Usage

        exploit = self._exploit()
        if exploit and exploit.step == self._reported:
            self._part()
        if self._crew is None:
            keep_to_share(given_gpus())
            recipe = dict(exploit.recipe if exploit else self._config["recipe"])
            # Never from a checkpoint whose report was lost with the worker: its measures are worked out again.
            self._crew = Crew(self._config.get("processes", 1), self._config, recipe, self._reported, exploit)
        usage, clock = Usage(), [time.monotonic()]
        measures = self._crew.train(until)
        clock.append(time.monotonic())
        checkpoint = self._crew.loop.checkpoint()
        clock.append(time.monotonic())
        metrics = inline_metrics(self._crew.loop.encoder(), Path(self._config["inline"]), self._config["chunking"])
        clock.append(time.monotonic())
        parts = ("train", "checkpoint", "inline")
        return {
            "step": until,
            "checkpoint": checkpoint.name,
            "metrics": {**metrics, **measures},
            "seconds": {part: after - before for part, before, after in zip(parts, clock, clock[1:], strict=False)},
            "system": usage.taken(),
        }

    def _exploit(self) -> exploits.Exploit | None:
        """What the trial took over last, at the step that it goes on from or before."""
        if self._config["perturb_every"] is None:
            return None
        if self._mirror:
            self._mirror.have_files(f"{self._mirror.name(self._folder)}/{exploits.FOLDER}/*.json")
        exploit = exploits.newest(self._folder, self._reported)
        if exploit and self._mirror:
            self._mirror.have([exploit.checkpoint])
        return exploit
