"""Odd circumstances and odd requests: closed streams, full disks, folders that hold something else; never a traceback."""

from __future__ import annotations

import resource
import subprocess
import sys

import numpy as np
import pytest
import torch

from corpora import scores
from corpora.arrays import write_arrays
from corpora.files import build_folder, write_atomically
from trainables import checkpoints


@pytest.fixture
def no_file_over(monkeypatch):
    """Every write beyond so many bytes of a file fails, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda limit: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_a_stream_that_the_shell_closed(golden, closed):
    command = f'"{sys.executable}" -m stockpot corpus check "{golden}" --json {closed}'
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_result_that_cannot_be_written():
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "stockpot", "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr and "no space left on device" in done.stderr


def test_a_full_disk_is_told_in_a_line_that_names_the_file(said, no_file_over, tiny_yaml, tmp_path):
    no_file_over(50_000)
    code, out, err = said("prepare", tiny_yaml, "--out", tmp_path / "out")
    assert code == 1 and out == "" and f"error {tmp_path / 'out'}" in err and err.endswith("documents.jsonl: file too large")


WRITERS = {
    "safetensors": lambda path: checkpoints.save({"w": torch.zeros(5000)}, path),
    "a checkpoint": lambda path: checkpoints.write(path, {"projection.weight": torch.zeros(5000)}, {}),
    "NumPy": lambda path: build_folder(path, lambda beside: write_arrays(beside, iter([{"a": np.zeros(5000)}]))),
    "parquet": lambda path: scores.write(path, [rows(20_000)]),
    "bytes": lambda path: write_atomically(path, bytes(20_000)),
}


def rows(count: int) -> scores.PairRows:
    random = np.random.default_rng(0)
    return scores.PairRows("q", "d", np.arange(count), np.arange(count) + 1, random.random(count, np.float32), random.random(count, np.float32))


@pytest.mark.parametrize("writer", WRITERS)
def test_every_writer_names_what_it_could_not_write(no_file_over, tmp_path, writer):
    no_file_over(10_000)
    with pytest.raises(OSError) as refused:
        WRITERS[writer](tmp_path / "made")
    assert str(refused.value.filename).startswith(str(tmp_path)) and refused.value.strerror
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert writer == "safetensors" or list(tmp_path.iterdir()) == []  # nothing half written is left
