"""What all of `stockpot corpus` keeps to: nothing is overwritten, any terminal, help, exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stockpot.corpus_folders import ADA, SMALL, leftovers, write

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("command", ["import", "generate", "split"])
@pytest.mark.parametrize("taken", ["folder", "file", "link", "under a file"])
def test_what_is_there_is_never_overwritten(corpus_command, tmp_path, command, taken):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/a.txt").write_text("Ada pays.")
    native_corpus = write(tmp_path / "corpus", [ADA, {"id": "b", "text": "Ben owes nothing at all."}])
    destination = tmp_path / "dst"
    if taken == "folder":
        destination.mkdir()
        (destination / "keep").write_text("mine")
    elif taken == "link":
        destination.symlink_to(tmp_path / "nowhere")
    else:
        destination.write_text("mine")
    where = destination / "sub/deeper" if taken == "under a file" else destination
    arguments = {
        "import": ("text", tmp_path / "texts", where),
        "generate": (where, *SMALL),
        "split": (native_corpus, where, "--shares", "train=0.5,dev=0.5"),
    }
    before = leftovers(tmp_path)
    said = corpus_command(command, *arguments[command])
    assert said.code == 2 and not said.out
    assert ("is no folder" if taken == "under a file" else "exists already") in said.err
    assert leftovers(tmp_path) == before
    if taken == "folder":
        assert (destination / "keep").read_text() == "mine"


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_any_terminal_takes_the_report(tmp_path, encoding):
    folder = write(tmp_path / "Straße", [{**ADA, "family": "Müller", "domain": "日本"}])
    ended = subprocess.run(
        [sys.executable, "-c", "from stockpot.cli import main; main()", "corpus", "check", str(folder)],
        capture_output=True, cwd=ROOT, env={**os.environ, "PYTHONIOENCODING": encoding}, timeout=120,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert "domains: 日本 1".encode(encoding, "backslashreplace") in ended.stdout
    assert ended.stderr.startswith(b"checking ")


@pytest.mark.parametrize("command", ["import", "check", "generate", "split"])
def test_help_teaches(corpus_command, command):
    said = corpus_command(command, "--help")
    assert said.code == 0 and "Usage" in said.out


def test_an_unknown_option_is_wrong_usage(corpus_command):
    assert corpus_command("check", "--nonsense").code == 2
