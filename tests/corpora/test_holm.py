from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.holm import holm


def test_worked_values(golden):
    for p, adjusted in json.loads((golden / "statistics.json").read_text())["holm"]:
        assert holm(p) == pytest.approx(adjusted, abs=1e-12)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_by_its_definition(p):
    """Reject while p_(i) <= alpha / (m - i): the adjusted value is the least alpha that rejects."""
    order = sorted(range(len(p)), key=lambda each: p[each])
    adjusted, reached = [0.0] * len(p), 0.0
    for place, each in enumerate(order):
        reached = max(reached, min(1, (len(p) - place) * p[each]))
        adjusted[each] = reached
    assert holm(p) == pytest.approx(adjusted)
