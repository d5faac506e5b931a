"""Which process did something: the host it ran on, and whether it lives."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def this_host() -> str:
    """The machine and its process namespace: a pid means nothing in another container."""
    try:
        return f"{platform.node()}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return platform.node()


def is_alive(pid: int) -> bool:
    """Of a process of this host. One that was killed and that nobody has taken note of (a zombie) is dead."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:  # no /proc here, or it ended just now
        return True
