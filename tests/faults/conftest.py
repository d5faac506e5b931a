"""The small fast sweep that the faults are thrown at, and a disk small enough to fill."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.world import World


@pytest.fixture(scope="session")
def world(tmp_path_factory) -> World:
    return World.make(tmp_path_factory.mktemp("faults"))


@pytest.fixture
def disk(tmp_path) -> Iterator[tuple[Path, Callable[[str], None]]]:
    """A mounted file system, and `change(options)`, which mounts it anew: `size=4m`, `ro`."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", place], capture_output=True).returncode:
        pytest.skip("this machine allows no mounts")

    def change(options: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{options}", place], check=True, capture_output=True)

    yield place, change
    subprocess.run(["umount", "--lazy", place], check=True)
