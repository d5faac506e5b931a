"""`stockpot`: finds, compares and ships the best contextual embedding model."""

from __future__ import annotations

import sys

import typer

from corpora.errors import FAILED, StockpotError
from stockpot import output
from stockpot.commands import checkpoint, cluster, compare, corpus, demo, doctor, evaluate, init, gc, noise, prepare, report, soup, stop, submit, sweep
from stockpot.options import check_arguments
from sweeps.interruptible import interruptible

app = typer.Typer(
    name="stockpot",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Finds, compares and ships the best contextual embedding model.\n\n"
    "Start with `stockpot demo`; then `stockpot plan SWEEP.yaml` and `stockpot sweep SWEEP.yaml` on your own corpus.\n\n"
    "Results go to stdout, progress to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage or input, "
    "3 (`stockpot soup`) the best single checkpoint ships because no soup was certifiably better.",
)
for module in (demo, init, prepare, noise, sweep, stop, submit, evaluate, compare, soup, report, gc, doctor):
    module.register(app)
app.add_typer(corpus.app, name="corpus")
app.add_typer(checkpoint.app, name="checkpoint")
app.add_typer(cluster.app, name="cluster")

INTERRUPTED = 130
"""What typer makes of Ctrl-C, and `interruptible` of SIGTERM."""
RESUMABLE = ("sweep", "demo", "noise")


def main() -> None:
    """The console script: every error of ours becomes its message and its exit code."""
    output.quiet()
    output.open_streams()
    try:
        check_arguments(sys.argv[1:])
        with interruptible():
            app()
    except StockpotError as error:
        output.progress.print(f"[bold red]error[/bold red] {output.plain(error)}", soft_wrap=True)
        sys.exit(error.exit_code)
    except SystemExit as ended:
        if ended.code == INTERRUPTED:
            resumed = sys.argv[1:2] and sys.argv[1] in RESUMABLE
            output.progress.print(f"interrupted; what was finished is kept, and {'--resume goes on from there' if resumed else 'nothing half-made is left'}")
            sys.exit(FAILED)
        raise
    except BrokenPipeError:
        sys.exit(FAILED)
    except OSError as error:  # a file that cannot be read or written, a full disk
        output.progress.print(f"[bold red]error[/bold red] {output.plain_cause(error)}", soft_wrap=True)
        sys.exit(FAILED)
