from __future__ import annotations

import pandas as pd

from evaluators.suites.storage import frontier


def test_the_front_holds_what_nothing_smaller_equals():
    rows = pd.DataFrame([
        ("storage", "a", "sentence", 64, "float32", "nDCG@10", 0.8), ("storage", "b", "sentence", 64, "float32", "nDCG@10", 0.6),
        ("storage", "a", "sentence", 64, "int8", "nDCG@10", 0.7), ("storage", "b", "sentence", 64, "int8", "nDCG@10", 0.7),
        ("storage", "a", "sentence", 16, "float32", "nDCG@10", 0.5), ("storage", "b", "sentence", 16, "float32", "nDCG@10", 0.5),
        ("storage", "a", "sentence", 64, "binary", "nDCG@10", 0.2), ("storage", "b", "sentence", 64, "binary", "nDCG@10", 0.4),
        ("q2c", "a", "sentence", 64, "binary", "nDCG@10", 0.9),
    ], columns=["suite", "task", "chunking", "dimension", "precision", "metric", "value"])
    found = frontier(rows)
    assert found.bytes.tolist() == [8, 64, 64, 256]
    assert found.precision.tolist() == ["binary", "int8", "float32", "float32"]
    assert found.front.tolist() == [True, True, False, False]
