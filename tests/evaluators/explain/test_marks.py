from __future__ import annotations

import re
from html import unescape

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evaluators.explain.marks import LEVELS, LONGEST, excerpt, marked, passages, shades

SPANS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)).map(lambda span: tuple(sorted(span))), max_size=4)


def characters(markup: str) -> list[tuple[str, str]]:
    """(character, classes) of marked text."""
    found = []
    for classes, inside, outside in re.findall(r'<span class="([^"]*)">([^<]*)</span>|([^<]+)', markup):
        found += [(each, classes) for each in unescape(inside or outside)]
    return found


@given(st.text("ab<&\"'", min_size=20, max_size=20), SPANS, SPANS)
def test_every_character_bears_the_classes_of_its_spans(text, answers, evidence):
    layers = {"answer": answers, "evidence": evidence}
    expected = [(each, " ".join(name for name, spans in layers.items()
                                if any(low <= place < high for low, high in spans)))
                for place, each in enumerate(text)]
    assert characters(marked(text, (0, 20), layers)) == expected
    assert characters(marked(text, (5, 15), layers)) == expected[5:15]
    assert marked(text, (7, 7), layers) == ""


def test_passages_join_where_they_meet_and_show_what_is_left_out():
    text = "x" * 1000
    near, far = passages(text, [(300, 310), (320, 330)], {}), passages(text, [(300, 310), (900, 910)], {})
    assert near == f"… {'x' * 350} …" and far == f"… {'x' * 330} … {'x' * 260}"
    assert passages("all of it", [(0, 3)], {}) == "all of it" and passages(text, [], {}) == ""


def test_a_long_chunk_is_cut_around_its_first_mark():
    text = "a" * 5000 + "ANSWER" + "b" * 5000
    found = excerpt(text, (0, len(text)), {"answer": [(5000, 5006)]})
    assert '<span class="answer">ANSWER</span>' in found and len(characters(found)) == LONGEST + 4
    assert excerpt(text, (0, len(text)), {}) == "a" * LONGEST + " …"
    assert excerpt(text, (4990, 5010), {}) == text[4990:5010]


def test_shades_rise_with_the_score():
    starts, scores = np.arange(0, 100, 5), np.linspace(0, 1, 20)
    layers, low, high = shades(starts, starts + 5, scores)
    assert (low, high) == (0, 1) and list(layers) == [f"heat-{level}" for level in range(1, LEVELS + 1)]
    level = np.zeros(100, int)
    for name, spans in layers.items():
        for start, end in spans:
            level[start:end] = int(name.removeprefix("heat-"))
    assert (np.diff(level) >= 0).all() and level[0] == 0 and level[-1] == LEVELS


def test_scores_that_are_no_shares_run_from_lowest_to_highest():
    layers, low, high = shades(np.array([0, 2]), np.array([2, 4]), np.array([-3.0, 5.0]))
    assert (low, high, layers) == (-3.0, 5.0, {"heat-8": [(2, 4)]})
    assert shades(np.array([0]), np.array([2]), np.array([7.0])) == ({}, 7.0, 7.0)
