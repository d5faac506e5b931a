"""The built-in trainer, waiting after its first checkpoint as long as a file says so: a fault strikes mid-trial then.

A trial that waits says where: `held/ADDRESS.TRIAL` in the folder that HELD names.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from trainables.training import BuiltIn


class Held(BuiltIn):
    trial = ""

    def train(self, steps: int) -> Mapping[str, float]:
        folder = Path(os.environ["HELD"])
        while self.step and (folder / "hold").exists():
            (folder / "held" / f"{os.environ['MACHINE']}.{self.trial}").touch()
            time.sleep(0.1)
        return super().train(steps)

    def save(self, folder: Path) -> None:
        self.trial = folder.parent.name
        super().save(folder)

    def load(self, folder: Path) -> None:
        self.trial = folder.parent.name
        super().load(folder)
