"""A trial in several processes, one a GPU: this one, which reports and saves, and helpers that share its batches.

All run the same Loop; `trainables/processes.py` joins their gradients. Helpers follow this process's orders over a pipe. Who
is left alone by another's death dies too: the trial then starts again from its last checkpoint, as after any lost worker.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing

from corpora.errors import StockpotError
from trainables.exploits import Exploit
from trainables.loading import trusting
from trainables.loop import Loop
from trainables.recipe import LoopRecipe
from trainables.trainers import trainer_of

PATIENCE = 30.0  # seconds that a helper has to end


class Crew:
    """Trains the trial of `job`, a TuneTrial's config, in `size` processes; `loop` is this process's part.

    `recipe`: all fields by name; `up_to` and `exploit`: as Loop has them.
    """

    def __init__(self, size: int, job: dict[str, Any], recipe: dict[str, Any], up_to: int, exploit: Exploit | None):
        self._helpers: list[multiprocessing.Process] = []
        self._orders: list[Connection] = []
        self._closing = False
        # As long as the crew works: torch.distributed meets there again and again.
        self._meeting = tempfile.TemporaryDirectory(prefix="stockpot-crew-") if size > 1 else None
        try:
            if size > 1:
                self._assemble(size, (job, recipe, up_to, exploit))
            self.loop = _loop(job, recipe, up_to, exploit)
        except StockpotError:
            self.close()
            raise

    def train(self, until_step: int) -> dict[str, float]:
        """As `Loop.train`; a checkpoint must follow, at which the helpers wait for this process."""
        for order in self._orders:
            order.send(until_step)
        return self.loop.train(until_step)

    def close(self) -> None:
        """Ends the helpers; the loop is over."""
        self._closing = True
        for order in self._orders:
            order.close()  # which they see
        for helper in self._helpers:
            helper.join(PATIENCE)
            helper.kill()  # where it waits in vain for this process, which failed alone
        if self._meeting:
            dist.destroy_process_group()
            self._meeting.cleanup()

    def _assemble(self, size: int, work: tuple) -> None:
        context = multiprocessing.get_context("spawn")
        meeting = f"{self._meeting.name}/meeting"
        for rank in range(1, size):
            orders, mine = context.Pipe(duplex=False)
            helper = context.Process(target=_help, args=(rank, size, meeting, orders, *work), daemon=True, name=f"helper {rank}")
            helper.start()
            orders.close()
            threading.Thread(target=self._end_with, args=(helper,), daemon=True).start()
            self._helpers.append(helper)
            self._orders.append(mine)
        _join(0, size, meeting)

    def _end_with(self, helper: multiprocessing.Process) -> None:
        wait([helper.sentinel])
        if not self._closing:
            os._exit(1)


def _help(
    rank: int, size: int, meeting: str, orders: Connection, job: dict[str, Any], recipe: dict[str, Any], up_to: int, exploit: Exploit | None,
) -> None:  # fmt: skip
    parent = multiprocessing.parent_process()
    threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()
    _join(rank, size, meeting)
    try:
        with trusting(job["trust_remote_code"]):
            loop = _loop(job, recipe, up_to, exploit)
            while True:
                loop.train(orders.recv())
                loop.checkpoint()
    except EOFError:
        pass  # no more orders
    except StockpotError:  # it meets every process alike, and the first one tells it
        with contextlib.suppress(EOFError):
            while True:
                orders.recv()
    dist.destroy_process_group()


def _loop(job: dict[str, Any], recipe: dict[str, Any], up_to: int, exploit: Exploit | None) -> Loop:
    kind = trainer_of(job["trainer"])
    places = (Path(job[name]) for name in ("data", "base", "folder"))
    settings: LoopRecipe = kind.Recipe(**recipe)
    loop = Loop(kind, settings, *places, up_to=up_to, exploit=exploit)
    loop.train(up_to)
    return loop


def _join(rank: int, size: int, meeting: str) -> None:
    on_gpus = torch.cuda.is_available()
    if on_gpus:
        torch.cuda.set_device(rank)
    dist.init_process_group("nccl" if on_gpus else "gloo", init_method=f"file://{meeting}", rank=rank, world_size=size)
