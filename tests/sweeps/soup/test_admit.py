"""Admission: every reason against a checkpoint, all at once; geometry against plain numpy."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from sweeps.soup import admit as module
from sweeps.soup.admit import admit, barriers
from trainables import checkpoints


def test_all_refusals_come_at_once_and_name_their_folder(make):
    base = make("base", 0)
    good = [make("good1", 1), make("good2", 2)]
    bad = {
        "quantiser": make("bad1", 3, quantiser="int8-tanh"),
        "base_weights": make("bad2", 4, base_weights="ff" * 32),
        "lacks 0|has beside": make("bad3", 5, tensors={"encoder.more": torch.zeros(1)}),
        r"\[3, 3\]": make("bad4", 6, tensors={"projection.weight": torch.zeros(2, 3)}),
        "F64": make("bad5", 7, tensors={"encoder.bias": torch.zeros(3, dtype=torch.float64)}),
        "tokenizer_sha256": make("bad6", 8, tokenizer_sha256="aa"),
        "not finite": make("bad7", 9, tensors={"encoder.bias": torch.tensor([1.0, float("nan"), 0.0])}),
        "changed after": make("bad8", 10),
        "manifest.json": base.parent / "absent",
    }
    (bad["changed after"] / "config.json").write_bytes(b"[]")
    admission = admit([*good, *bad.values()], base)
    assert admission.admitted == tuple(good)
    for message, folder in bad.items():
        about = [str(problem) for problem in admission.refused if str(folder) in problem.where]
        assert any(re.search(message, text) for text in about), (message, about)
    assert "2 checkpoints admitted" in admission.lines[0] and len(admission.lines) >= 2 + len(bad)


@pytest.mark.parametrize("block", [1, 4, 1 << 18])
def test_norms_and_cosines_are_those_of_the_flattened_task_vectors(make, monkeypatch, block):
    monkeypatch.setattr(module, "BLOCK", block)
    base = make("base", 0)
    folders = [make(f"t{seed}", seed) for seed in (1, 2, 3)]
    flat = [
        np.concatenate(
            [t.double().numpy().ravel() for k, t in sorted(checkpoints.weights(f).items()) if k != "encoder.positions"]
        )
        for f in [base, *folders]
    ]
    deltas = [vector - flat[0] for vector in flat[1:]]
    admission = admit(folders, base)
    assert np.allclose(admission.norms, [np.linalg.norm(d) for d in deltas], rtol=1e-12)
    expected = [[a @ b / np.linalg.norm(a) / np.linalg.norm(b) for b in deltas] for a in deltas]
    assert np.allclose(admission.cosines, expected, rtol=1e-12)


def test_base_itself_has_no_direction(make):
    base = make("base", 0)
    admission = admit([base, make("t", 1)], base)
    assert admission.norms[0] == 0 and admission.cosines[0, 1] == 0


def test_the_barrier_is_what_the_midpoint_loses(tmp_path):
    scores = {"best": 0.8, "near": 0.6, "far": 0.6, "best+near": 0.75, "best+far": 0.1}
    found = barriers(
        tmp_path / "best", [tmp_path / "near", tmp_path / "far"], lambda folder: scores[folder.name],
        lambda a, b: tmp_path / f"{a.name}+{b.name}",
    )  # fmt: skip
    assert found == {tmp_path / "near": pytest.approx(-0.05), tmp_path / "far": pytest.approx(0.6)}
