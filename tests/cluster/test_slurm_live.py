"""Slurm itself, where it is installed: the rendered script is submitted, signalled, queued again, and resumes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from cluster import slurm
from sweeps.ledger import Ledger
from tests.cluster.descriptions import smallest
from tests.faults.world import write_splits
from tests.sweeps.tiny_sweep import LIGHT, sweep_file

NEEDED = ("slurmctld", "slurmd", "munged", "sbatch", "unshare")
pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not all(map(shutil.which, NEEDED)), reason="Slurm is not installed (Debian: slurm-wlm, munge)"),
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and slurmd need root"),
]
NAMESPACES = ["unshare", "--pid", "--fork", "--mount-proc", "--net", "--kill-child"]


@pytest.fixture
def folder():
    """A short path: sockets lie in it."""
    if subprocess.run([*NAMESPACES, "true"], capture_output=True).returncode:
        pytest.skip("this machine allows no namespaces")
    path = Path(tempfile.mkdtemp(prefix="sp-", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


def test_signalled_before_the_limit_queued_again_and_finished(folder):
    (folder / "held").mkdir()
    (folder / "hold").touch()  # trials wait after their first checkpoint, however long asking them to stop takes
    held = f"{Path(__file__).with_name('held_trainer.py')}:Held"
    sweep, out = sweep_file(folder, trainer=held, corpora=write_splits(folder), **LIGHT), folder / "out"
    setup = [f"export PATH={Path(sys.executable).parent}:$PATH", "export RAY_raylet_start_wait_time_s=180",
             f"export HELD={folder} MACHINE=here"]  # fmt: skip
    cluster = smallest(storage=str(folder), workers=[{"cpus": 2, "memory": 3}], slurm={"time": "30", "setup": setup})
    script = folder / "sweep.sh"
    script.write_text(slurm.render(cluster))
    here = Path(__file__).with_name("slurm_here.sh")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run(
        [*NAMESPACES, "bash", str(here), *map(str, (folder, script, sweep, out))], capture_output=True, text=True, timeout=1100, env=environment,
    )  # fmt: skip
    log = "\n".join(path.read_text() for path in [*folder.glob("lab-*.log"), folder / "slurmctld.log", folder / "slurmd.log"])
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{log}"
    assert done.stdout.split() == ["Restarts=1", "JobState=COMPLETED"], f"{done.stdout}\n{log}"
    assert "queued again and resumes" in log
    state = Ledger.open(out).state()
    assert state.status == "finished" and len(state.trials) == 3
    assert not Path("/tmp/stockpot-1").exists()  # what the job kept there went with it
