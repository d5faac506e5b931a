"""What a probe measured takes the estimate's place, in proportion."""

from __future__ import annotations

import pytest

from corpora.documents import Corpus, Document, Query, Target
from sweeps.estimates import Estimate
from sweeps.probe import Probe, _some

ROUGH = Estimate(
    trials=10, steps=1000, checkpoints=50, training_tokens=1e6, training_hours=2.0, evaluation_hours=1.0, wall_hours=1.5,
    gpu_hours=0, disk_gb=9.0, memory_gb=3.0,
)  # fmt: skip
TAKEN = Probe(
    step_seconds=3.0, estimated_step_seconds=1.0, checkpoint_seconds=7.2, evaluation_seconds=5.0, estimated_evaluation_seconds=10.0,
    checkpoint_gb=0.1, state_gb=0.2, memory_gb=1.5,
)  # fmt: skip


def test_each_part_is_scaled_by_what_it_took():
    found = TAKEN.calibrated(ROUGH, slots=2, gpus=0.5)
    assert found.training_hours == pytest.approx(3 * 2.0 + 50 * 7.2 / 3600)
    assert found.evaluation_hours == pytest.approx(0.5)
    assert found.wall_hours == pytest.approx((6.1 + 0.5) / 2) and found.gpu_hours == pytest.approx(3.3)
    assert found.disk_gb == pytest.approx(50 * 0.1 + 10 * 0.2) and found.memory_gb == 1.5
    assert (found.trials, found.steps, found.checkpoints) == (10, 1000, 50)


def test_a_sample_holds_whole_queries_and_no_more_documents_than_asked():
    documents = tuple(Document(f"d{i}", f"text {i}") for i in range(30))
    queries = tuple(Query(f"q{i}", "?", (Target(f"d{i}"), Target(f"d{(i + 1) % 30}"))) for i in range(30))
    found = _some(Corpus("c", documents, queries), 10)
    held = {document.id for document in found.documents}
    assert 10 <= len(held) <= 11 and found.queries
    assert all(target.document in held for query in found.queries for target in query.targets)
    assert len(_some(Corpus("c", documents, queries), 100).documents) == 30
