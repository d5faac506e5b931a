"""Corpora in their native files, as tests of `stockpot corpus` write and make them."""

from __future__ import annotations

import json
from pathlib import Path

ADA = {"id": "a", "text": "Ada pays the rent."}
SMALL = ("--documents", "40", "--siblings", "4", "--candidates", "8", "--length", "1", "--domains", "leases,manuals",
         "--abilities", "entity identity", "--abilities", "section scope")  # fmt: skip


def write(folder: Path, documents: list | bytes, queries: list | bytes = b"") -> Path:
    folder.mkdir(parents=True)
    for name, content in (("documents", documents), ("queries", queries)):
        if isinstance(content, list):
            content = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in content).encode()
        (folder / f"{name}.jsonl").write_bytes(content)
    return folder


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
