"""The folder of an evaluation: written beside, and an earlier one replaced only when the new one is complete."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from corpora.errors import InputError, Problem
from corpora.files import remove_leftovers, scratch_folder, write_atomically

PER_QUERY, RESULTS, MTEB, RUNS = "per-query.parquet", "results.json", "mteb", "runs"


def earlier(out: Path, overwrite: bool) -> list[Path]:
    """What an earlier evaluation wrote into the folder; refused unless `overwrite`, for two would be mixed."""
    report = out / "report.md"
    figures = re.findall(r"\]\(([\w.-]+\.png)\)", report.read_text(encoding="utf-8", errors="replace")) if report.is_file() else []
    named = dict.fromkeys([PER_QUERY, RESULTS, report.name, "report.html", MTEB, RUNS, *figures])
    found = [out / name for name in named if (out / name).exists()]
    if found and not overwrite:
        raise InputError(Problem("--out", f"{out} holds an evaluation already ({', '.join(path.name for path in found[:4])}): name "
                                 "another folder, or replace it by --overwrite"))  # fmt: skip
    return found


@contextmanager
def replacing(out: Path, replaced: list[Path]) -> Iterator[Callable[[Path], Path]]:
    """Gives where to write what shall lie at a path; paths in `out` are written in a scratch folder of it, which takes the
    place of `replaced` at the end. After a failure `out` is as it was, also where the process was killed at its work."""
    absent = [place for place in (out, *out.parents) if not place.exists()]
    out.mkdir(parents=True, exist_ok=True)
    try:
        with scratch_folder(out / "evaluation") as scratch:
            new, aside = scratch / "new", scratch / "replaced"
            yield lambda path: _moved(path, out, new)
            files = [path for path in new.rglob("*") if path.is_file()]
            _rename([(path, _moved(path, out, aside)) for path in replaced] + [(path, _moved(path, new, out)) for path in files])
        remove_leftovers(out)
    finally:
        for place in absent:  # of a failure, for only what is empty goes
            with suppress(OSError):
                place.rmdir()


def write(folder: Path, content: dict[str, Any], results: Any) -> None:
    """Everything but the values of each query and the runs. `content`: the object that `--json` prints."""
    from evaluators.mteb_results import write_mteb
    from evaluators.report import write_report

    write_atomically(folder / RESULTS, json.dumps(content, indent=1, ensure_ascii=False))
    write_report(folder, [results])
    write_mteb(folder / MTEB, results)


def _moved(path: Path, old: Path, new: Path) -> Path:
    """The path as it is in `new` instead of `old`; elsewhere it stays."""
    path, old = Path(os.path.abspath(path)), Path(os.path.abspath(old))
    return new / path.relative_to(old) if path.is_relative_to(old) else path


def _rename(pairs: list[tuple[Path, Path]]) -> None:
    """All of them, or none: a moment's work that needs no room."""
    done = []
    try:
        for old, new in pairs:
            new.parent.mkdir(parents=True, exist_ok=True)
            os.rename(old, new)
            done.append((old, new))
    except BaseException:
        for old, new in reversed(done):
            os.rename(new, old)
        raise
