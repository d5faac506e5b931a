"""`stockpot demo`: the whole of stockpot on a corpus that it generates, in minutes, on two cores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stockpot import output

EXAMPLES = Path(__file__).parent.parent / "examples"


def register(app: typer.Typer) -> None:
    app.command()(demo)


def demo(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer, shorter trials: under three minutes.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for everything the demo makes.")] = Path("runs/demo"),
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a demo that was interrupted.")] = False,
    json_output: Annotated[bool, typer.Option("--json", help="One JSON object on stdout, for scripts.")] = False,
) -> None:
    """Runs a real sweep on the built-in corpus: trains, evaluates, logs, soups; under eight minutes on two cores.

    The corpus is generated (seeded): families of long documents that differ only in distant
    context. The student is the real MiniLM, cut to two layers. The teacher is made from the
    labels, smoothed and noisy: it stands in for a compression model.
    """
    from stockpot.whole_sweep import run_whole_sweep
    from sweeps import config
    from sweeps.sweep_folder import check_begun

    if resume:
        check_begun(out, None, output.say)
    loaded = config.load(EXAMPLES / ("demo-quick.yaml" if quick else "demo.yaml"))
    run_whole_sweep(loaded, out, resume, allow_changed_code=False, json_output=json_output, demo=True)
