"""`stockpot submit | logs`: a sweep on a cluster, sent and followed from any machine."""

from __future__ import annotations

import tempfile
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from corpora.errors import FAILED, InputError, Problem
from stockpot import output
from stockpot.commands.sweep import Json, SweepFile
from sweeps.stopping import ASKED

if TYPE_CHECKING:
    from cluster.description import Cluster
    from cluster.head import Head
    from cluster.jobs import Job
    from cluster.remote_sweep import RemoteSweep

Address = Annotated[
    str | None, typer.Option(metavar="URL", help="Job server of the Ray cluster, such as http://127.0.0.1:8265; by default the job's own."),
]


class Cloud(StrEnum):
    aws = "aws"
    gcp = "gcp"


def register(app: typer.Typer) -> None:
    app.command()(submit)
    app.command()(logs)


def submit(
    file: SweepFile,
    address: Annotated[str | None, typer.Option(metavar="URL", help="A Ray cluster's job server, such as http://HEAD:8265.")] = None,
    slurm: Annotated[bool, typer.Option("--slurm", help="Render the batch script and hand it to sbatch.")] = False,
    kuberay: Annotated[bool, typer.Option("--kuberay", help="Render the RayJob and hand it to kubectl.")] = False,
    up: Annotated[Cloud | None, typer.Option(help="Start the machines first by `ray up`; then submit through `ray dashboard`.")] = None,
    cluster: Annotated[
        Path | None, typer.Option(metavar="CLUSTER.yaml", help="The cluster's description: its storage, MLflow server, what it may grow by."),
    ] = None,
    out: Annotated[str | None, typer.Option(help="The sweep's folder on the cluster: STORAGE/NAME by default, on each node's own disk where storage is a URI.")] = None,
    driver_on: Annotated[
        list[str] | None, typer.Option(metavar="LABEL=VALUE", help="Only nodes with this Ray label may hold the driver; the head by default."),
    ] = None,
    allow_changed_code: Annotated[
        bool, typer.Option("--allow-changed-code", help="Go on with a sweep although stockpot's own code has changed."),
    ] = False,
    without_token: Annotated[bool, typer.Option("--without-token", help="The cluster asks nobody for a token, and that is meant.")] = False,
    detach: Annotated[bool, typer.Option("--detach", help="Do not follow the log; `stockpot logs` does later.")] = False,
    json_output: Json = False,
) -> None:
    """Runs a sweep on a cluster: checks everything first, sends the sources and the YAML, follows the log.

    The job goes on when this machine sleeps or loses its connection: `stockpot logs`, `status` and `stop` find it again.
    Sent twice, the same sweep resumes in its folder.
    """
    from cluster import description, tools
    from cluster.remote_sweep import RemoteSweep
    from cluster.render import rendered
    from sweeps import config

    if sum(map(bool, (address, slurm, kuberay, up))) != 1:
        raise InputError(Problem("submit", "say where to: one of --address URL, --slurm, --kuberay, --up aws|gcp"))
    if not address and cluster is None:
        raise InputError(Problem("--cluster", "needed with --slurm, --kuberay and --up: CLUSTER.yaml (examples/cluster.yaml shows one)"))
    described = description.load(cluster) if cluster else None
    if up:
        typer.echo(tools.ray_up(rendered(up.value, described, None, None), described.name))
        return
    if slurm or kuberay:
        text = rendered("slurm" if slurm else "kuberay", described, file, out)
        typer.echo((tools.sbatch if slurm else tools.kubectl_apply)(text))
        return
    remote = RemoteSweep.of(config.load(file), out, described)
    head, job = _sent(file, address, remote, described, _labels(driver_on or []), allow_changed_code, without_token)
    if json_output:
        output.print_json({"job": job.name, "address": job.address, "out": job.out})
    else:
        typer.echo(job.name)
    output.progress.print(f"look: stockpot status {job.name}; stop: stockpot stop {job.name}; log: stockpot logs {job.name}", markup=False)
    if not detach:
        _follow(head, job.name, lambda text: output.progress.print(text, end="", markup=False, soft_wrap=True))


def logs(
    job: Annotated[str | None, typer.Argument(metavar="JOB", help="What `stockpot submit` printed; the latest from this machine by default.")] = None,
    address: Address = None,
) -> None:
    """Shows a submitted sweep's log from its beginning, and follows it to its end."""
    from cluster.head import reach

    name, where = job_at(job, address)
    _follow(reach(where), name, lambda text: typer.echo(text, nl=False))


def job_at(job: str | None, address: str | None) -> tuple[str, str]:
    """A job's name and its cluster, from this machine's memory where they are not given."""
    from cluster.jobs import remembered

    if job and address:
        return job, address
    found = remembered(job)
    if found is None:
        what = f"no job {job!r} was submitted from this machine" if job else "no job was submitted from this machine"
        raise InputError(Problem("JOB", f"{what}: name it, and its cluster by --address URL"))
    return found.name, address or found.address


def answered_there(sweep: Path, address: str | None, command: list[str]) -> bool:
    """Whether `sweep` was no folder but a submitted job, whose cluster ran `stockpot COMMAND` on its folder and answered."""
    if not address and sweep.exists():
        return False  # before anything heavy is imported
    from cluster.jobs import remembered, run_there

    if not address and remembered(str(sweep)) is None:
        return False
    from cluster.head import reach

    name, where = job_at(str(sweep), address)
    if code := run_there(reach(where), name, command, lambda text: typer.echo(text, nl=False)):
        raise typer.Exit(code)
    return True


def _sent(
    file: Path, address: str, remote: RemoteSweep, cluster: Cluster | None, driver: dict[str, str], allow_changed_code: bool, without_token: bool,
) -> tuple[Head, Job]:
    from cluster import jobs
    from cluster.head import asks_for_token, reach
    from cluster.package import write_package
    from cluster.preflight import judge, versions_differ
    from corpora.yaml_file import read_yaml
    from sweeps.plan_file import located

    head = reach(address)
    if problems := versions_differ(head.ray):
        raise InputError(problems)
    if not without_token and not asks_for_token(address):
        cure = "start its nodes with RAY_AUTH_MODE=token, or say --without-token"
        raise InputError(Problem("--address", f"whoever reaches {address} can run anything there: {cure}"))
    with tempfile.TemporaryDirectory(prefix="stockpot-submit-") as folder:
        package = Path(folder) / "stockpot.zip"
        size = write_package(package, remote.yaml)
        output.progress.print(f"package: {size / 1e6:.2f} MB; looking at {address} from every node", markup=False)
        found = judge(jobs.probe(head, package, remote), remote, cluster.largest if cluster else (), driver)
        output.progress.print(_nodes_table(found.rows()))
        for warning in found.warnings:
            output.progress.print(f"warning: {warning}", markup=False)
        if found.problems:
            lines = read_yaml(file)[1]
            raise InputError(located(problem, file, lines) for problem in found.problems)
        return head, jobs.submit(head, package, remote, time.strftime("%Y%m%d-%H%M%S", time.gmtime()), driver, allow_changed_code)


def _nodes_table(rows: list[list[str]]):
    from rich.table import Table

    table = Table(box=None)
    for column in ("node", "CPUs", "GPUs", "memory", "GPU memory", "free in the sweep's folder", "free in /tmp", "clock"):
        table.add_column(column)
    for row in rows:
        table.add_row(*row)
    return table


def _labels(given: list[str]) -> dict[str, str]:
    if wrong := [each for each in given if not all(each.partition("="))]:
        raise InputError(Problem("--driver-on", f"a Ray label is NAME=VALUE, such as ray.io/market-type=on-demand; found {wrong[0]!r}"))
    return dict(each.split("=", 1) for each in given)


def _follow(head: Head, name: str, show) -> None:
    said = []
    try:
        ended = head.follow(name, lambda text: (said.append(text), show(text)))
    except KeyboardInterrupt:
        output.progress.print(f"no longer watching; {name} goes on: stockpot logs {name}", markup=False)
        return
    stopped = ended.status != "SUCCEEDED" and ASKED in "".join(said)
    told = "stopped, as it was asked to; submit the sweep again and it goes on" if stopped else ended.status.value.lower()
    output.progress.print(f"{name}: {told}", markup=False)
    if ended.status != "SUCCEEDED":
        raise typer.Exit(FAILED)
