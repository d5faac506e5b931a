"""Names that are not defined, or imported and not used: what no run of a test needs to reach to be wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_no_name_is_undefined_and_no_import_unused():
    asked = [sys.executable, "-m", "ruff", "check", "--no-cache", "--select", "F", "."]
    done = subprocess.run(asked, cwd=Path(__file__).parents[1], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
