"""A worker with a part of a GPU keeps to that part of its memory."""

from __future__ import annotations

import pytest
import torch

from trainables.gpu_share import keep_to_share


@pytest.mark.parametrize(("gpus", "available", "capped"), [(0.5, True, [0.5]), (1.0, True, []), (2.0, True, []), (0.0, True, []), (0.5, False, [])])
def test_only_a_part_is_capped(monkeypatch, gpus, available, capped):
    called = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: available)
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", called.append)
    keep_to_share(gpus)
    assert called == capped
