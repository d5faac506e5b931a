"""The batch script: what bash and shellcheck say of it, and what it asks of Slurm."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from cluster import slurm
from cluster.remote_sweep import RemoteSweep
from corpora.errors import InputError
from sweeps import config
from tests.cluster.descriptions import ROOT, example, smallest


def remote(out: str = "/mnt/sweeps/weights") -> RemoteSweep:
    return RemoteSweep.of(config.load(ROOT / "examples" / "weights.yaml"), out)


def by_uri():
    return smallest(storage="s3://bucket/sweeps", scratch="/scratch/me")


SCRIPTS = {
    "smallest": lambda: slurm.render(smallest()),
    "example": lambda: slurm.render(example()),
    "embedded": lambda: slurm.render(example(), remote()),
    "by-uri": lambda: slurm.render(by_uri(), RemoteSweep.of(config.load(ROOT / "examples" / "weights.yaml"), None, by_uri())),
    "awkward": lambda: slurm.render(example(), remote("/mnt/it's $(a) `folder`")),
}


@pytest.mark.parametrize("which", SCRIPTS)
def test_bash_reads_it(which):
    done = subprocess.run(["bash", "-n"], input=SCRIPTS[which](), text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("which", ["smallest", "example", "embedded", "by-uri"])
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


def test_a_token_a_job_that_no_file_and_no_command_line_shows():
    script = slurm.render(example(), remote())
    assert "export RAY_AUTH_MODE=token RAY_AUTH_TOKEN\n" in script
    start = script.index("RAY_AUTH_TOKEN=$(")
    drawn = [subprocess.run(["bash", "-c", script[start : script.index("export", start)] + 'echo "$RAY_AUTH_TOKEN"'], text=True, capture_output=True)
             for _ in range(2)]  # fmt: skip
    assert {len(each.stdout.strip()) for each in drawn} == {64} and drawn[0].stdout != drawn[1].stdout
    assert script.count("RAY_AUTH_TOKEN") == 2


def test_with_a_uri_the_sweep_lies_on_each_nodes_own_disk():
    script = SCRIPTS["by-uri"]()
    assert "\nOUT=/scratch/me/weights\n" in script and "\nstorage: s3://bucket/sweeps/weights\n" in script
    with pytest.raises(InputError, match="--sweep: give the sweep, which will say that it is kept in s3://bucket/sweeps"):
        slurm.render(by_uri())
