"""`stockpot cluster render`: files for Slurm, Kubernetes and clouds, from one description."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Clusters: Slurm, Kubernetes, AWS, GCP (docs/cluster.md).")


class What(StrEnum):
    slurm = "slurm"
    kuberay = "kuberay"
    aws = "aws"
    gcp = "gcp"
    docker = "docker"
    compose = "compose"


@app.command()
def render(
    what: Annotated[What, typer.Argument(help="slurm: for sbatch; kuberay: for kubectl; aws, gcp: for `ray up`; docker: the image; "
                                              "compose: an MLflow server with PostgreSQL and S3.")],
    file: Annotated[Path, typer.Argument(metavar="CLUSTER.yaml", help="The cluster; examples/cluster.yaml shows every key.")] = Path("cluster.yaml"),
    sweep: Annotated[Path | None, typer.Option(help="A sweep to run: slurm and kuberay then hold it whole and need nothing else.")] = None,
    out: Annotated[str | None, typer.Option(help="The sweep's folder on the cluster: STORAGE/NAME by default, on each node's own disk where storage is a URI.")] = None,
) -> None:
    """Prints the file on stdout; touches no cluster."""
    from cluster import description
    from cluster.render import rendered

    typer.echo(rendered(what.value, description.load(file), sweep, out), nl=False)


@app.command()
def jobs(address: Annotated[str, typer.Option(metavar="URL", help="Job server of the Ray cluster, such as http://127.0.0.1:8265.")]) -> None:
    """Lists the sweeps that were submitted to a cluster, the latest first."""
    from cluster.head import reach
    from cluster.jobs import sweeps_of
    from stockpot import output

    output.print_table(f"sweeps on {address}", ("job", "state", "folder"), sweeps_of(reach(address)))
