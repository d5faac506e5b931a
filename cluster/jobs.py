"""Sweeps as jobs of a Ray cluster: submitted, found again after a closed laptop, asked and stopped from anywhere."""

from __future__ import annotations

import json
import os
import re
import shlex
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from cluster.head import Head
from cluster.package import SWEEP
from cluster.probe import MARK
from cluster.remote_sweep import RemoteSweep, folder_name
from corpora.errors import InputError, Problem, StockpotError

STOP_WAIT = {"RAY_JOB_STOP_WAIT_TIME_S": "120"}
"""Ray kills a job 3 seconds after it asked it to stop; a driver needs longer to close its ledger."""
PROBE_WAIT = 300.0
PYTHON = "exec python -m stockpot"


@dataclass(frozen=True)
class Job:
    """A submitted sweep, as this machine remembers it: no secret, and nothing that the cluster could not tell."""

    name: str
    address: str
    out: str


def probe(head: Head, package: Path, sweep: RemoteSweep) -> dict:
    """What every node of the cluster sees (`cluster.probe`)."""
    command = f"exec python -m cluster.probe {shlex.quote(json.dumps(sweep.asked))}"
    name = head.client.submit_job(
        entrypoint=command, runtime_env={"working_dir": str(package)}, submission_id=f"probe-{uuid.uuid4().hex[:12]}",
    )
    job = head.wait(name, PROBE_WAIT)
    logs = head.client.get_job_logs(name)
    told = [line for line in logs.splitlines() if line.startswith(MARK)]
    if not told:
        raise StockpotError(f"the checks on the cluster ended without a result ({job.message or job.status}):\n{_tail(logs)}")
    return json.loads(told[-1].removeprefix(MARK))


def submit(head: Head, package: Path, sweep: RemoteSweep, stamp: str, driver: dict[str, str], allow_changed_code: bool) -> Job:
    """`--resume` always: the same sweep goes on where its folder holds one, and another one is refused there."""
    name = f"{folder_name(sweep.config.name)[:60]}-{stamp}"
    options = ["--out", sweep.out, "--resume", "--or-start", *(["--allow-changed-code"] if allow_changed_code else [])]
    head.client.submit_job(
        entrypoint=f"{PYTHON} sweep {SWEEP} {shlex.join(options)}",
        submission_id=name,
        runtime_env={"working_dir": str(package), "env_vars": STOP_WAIT},
        metadata={"stockpot": sweep.config.name, "out": sweep.out},
        entrypoint_label_selector=driver or None,
    )
    job = Job(name, head.address, sweep.out)
    _remember(job)
    return job


def run_there(head: Head, name: str, command: list[str], show: Callable[[str], None]) -> int:
    """Runs `stockpot COMMAND OUT` on the cluster, with the job's own sources; returns its exit code."""
    job = head.job(name)
    out = (job.metadata or {}).get("out")
    if not out:
        raise InputError(Problem(name, "is no sweep of stockpot's"))
    runs = head.client.submit_job(
        entrypoint=f"{PYTHON} {shlex.join([*command, out])}",
        runtime_env={"working_dir": job.runtime_env["working_dir"]},
        submission_id=f"ask-{uuid.uuid4().hex[:12]}",
    )
    ended = head.wait(runs, PROBE_WAIT)
    show(_without_rays_own(head.client.get_job_logs(runs)))
    return ended.driver_exit_code or 0


def sweeps_of(head: Head) -> list[list[str]]:
    """Name, state and folder of the cluster's sweeps, the latest first."""
    jobs = [job for job in head.client.list_jobs() if (job.metadata or {}).get("stockpot")]
    jobs.sort(key=lambda job: job.start_time or 0, reverse=True)
    return [[job.submission_id, str(job.status.value), job.metadata["out"]] for job in jobs]


def remembered(name: str | None = None) -> Job | None:
    """The job of that name, or the latest one, submitted from this machine."""
    try:
        lines = _memory().read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return None
    jobs = [job for line in lines if (job := _job(line))]
    return next((job for job in reversed(jobs) if name in (None, job.name)), None)


def _job(line: str) -> Job | None:
    """None for a line that was cut short, by a full disk say: the others are still worth something."""
    try:
        return Job(**json.loads(line))
    except (ValueError, TypeError):
        return None


def _remember(job: Job) -> None:
    path = _memory()
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as file:
        file.write(json.dumps(asdict(job)) + "\n")


def _memory() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "stockpot" / "jobs.jsonl"


def _without_rays_own(logs: str) -> str:
    """Ray heads a job's output with lines of its own, such as `2026-11-30 10:00:00,000	INFO job_manager.py:1 -- ...`."""
    own = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+\s+(INFO|WARNING) |^Running entrypoint for job ")
    return "".join(line for line in logs.splitlines(keepends=True) if not own.match(line))


def _tail(logs: str) -> str:
    return "\n".join(logs.splitlines()[-15:])
