"""What travels: every source and the sweep, small, quick, and the same bytes for the same content."""

from __future__ import annotations

import subprocess
import sys
import zipfile

from cluster.package import SWEEP, sources, write_package
from tests.cluster.descriptions import ROOT


def test_exactly_the_sources_and_the_sweep(tmp_path):
    size = write_package(tmp_path / "a.zip", "name: a sweep\n")
    names = set(zipfile.ZipFile(tmp_path / "a.zip").namelist())
    tracked = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    rooms = {"corpora", "evaluators", "trainables", "sweeps", "cluster", "stockpot"}
    assert names == {name for name in tracked if name.partition("/")[0] in rooms and (ROOT / name).exists()} | {SWEEP}
    assert size < 5e6


def test_same_content_same_bytes(tmp_path):
    for name in ("a.zip", "b.zip"):
        write_package(tmp_path / name, "name: a sweep\n")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    write_package(tmp_path / "b.zip", "name: another\n")
    assert (tmp_path / "a.zip").read_bytes() != (tmp_path / "b.zip").read_bytes()


def test_it_runs_where_nothing_is_installed_but_the_libraries(tmp_path):
    write_package(tmp_path / "a.zip", "name: a sweep\n")
    zipfile.ZipFile(tmp_path / "a.zip").extractall(tmp_path / "there")
    done = subprocess.run([sys.executable, "-m", "stockpot", "plan", SWEEP], cwd=tmp_path / "there", capture_output=True, text=True)
    assert done.returncode == 2 and "sweep.yaml:1: corpora: this key is missing" in done.stderr
    assert sources()["stockpot/__main__.py"].is_file()
