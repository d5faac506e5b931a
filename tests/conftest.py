"""Fixtures that every room's tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def golden() -> Path:
    """The worked values of DESIGN section 6, the project's own copy."""
    return Path(__file__).parent / "golden"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real corpora and publishers' files, where they lie beside the checkout."""
    folder = ROOT.parent / "shared"
    if not (folder / "corpora").is_dir():
        pytest.skip("../shared is absent: the real corpora are not part of the repository")
    return folder
