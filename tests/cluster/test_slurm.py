"""The batch script: what bash and shellcheck say of it, and what it asks of Slurm."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from cluster import slurm
from cluster.remote_sweep import RemoteSweep
from sweeps import config
from tests.cluster.descriptions import ROOT, example, smallest


def remote(out: str = "/mnt/sweeps/weights") -> RemoteSweep:
    return RemoteSweep.of(config.load(ROOT / "examples" / "weights.yaml"), out, None)


SCRIPTS = {
    "smallest": lambda: slurm.render(smallest()),
    "example": lambda: slurm.render(example()),
    "embedded": lambda: slurm.render(example(), remote()),
    "awkward": lambda: slurm.render(example(), remote("/mnt/it's $(a) `folder`")),
}


@pytest.mark.parametrize("which", SCRIPTS)
def test_bash_reads_it(which):
    done = subprocess.run(["bash", "-n"], input=SCRIPTS[which](), text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("which", ["smallest", "example", "embedded"])
def test_shellcheck_has_nothing_to_say(which):
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    done = subprocess.run(["shellcheck", "-"], input=SCRIPTS[which](), text=True, capture_output=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_what_it_asks_for():
    options = [line.removeprefix("#SBATCH ") for line in slurm.render(example()).splitlines() if line.startswith("#SBATCH")]
    assert {
        "--job-name=lab", "--nodes=2", "--partition=gpu", "--account=research", "--gres=gpu:a100:1", "--cpus-per-task=8",
        "--mem=80G", "--time=12:00:00", "--signal=B:USR1@300", "--requeue", "--exclusive",
    } <= set(options)  # fmt: skip
    assert not any("gres" in line for line in slurm.render(smallest(workers=[{}])).splitlines())


def test_the_directives_precede_every_command():
    lines = slurm.render(example(), remote()).splitlines()
    last = max(number for number, line in enumerate(lines) if line.startswith("#SBATCH"))
    assert all(line.startswith("#") for line in lines[: last + 1])


def test_the_sweep_and_its_folder_arrive_as_they_are(tmp_path):
    """The part that writes them is run by bash itself, with Slurm's variables made up."""
    sent = remote(str(tmp_path / "it's $(a) `folder`"))
    script = slurm.render(smallest(storage=str(tmp_path)), sent)
    start, end = script.index("umask 077"), script.index("HEAD=")
    shown = script[start:end] + 'printf "%s\\n" "$OUT"; cat "$SWEEP"; rm -r "$SCRATCH"\n'
    done = subprocess.run(["bash", "-eu"], input=shown, text=True, capture_output=True, env={"SLURM_JOB_ID": "7", "PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{sent.out}\n{sent.yaml}"
    token = tmp_path / ".stockpot-7" / "token"
    assert token.stat().st_mode & 0o077 == 0 and len(token.read_text()) == 64
