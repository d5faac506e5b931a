"""Named numbers equal the dict that they were made of."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sweeps.numbers import Numbers

DICTS = st.dictionaries(st.text(max_size=5), st.floats(allow_nan=False) | st.integers(-1000, 1000), max_size=6)


@given(DICTS, DICTS)
def test_numbers_read_as_a_dict(one, other):
    numbers = Numbers(one)
    assert numbers == one and dict(numbers) == one and list(numbers) == list(one) and len(numbers) == len(one)
    assert (numbers == Numbers(other)) == (one == other)
    assert numbers | other == one | other and other | numbers == other | one
    assert [numbers.get(name) for name in other] == [one.get(name) for name in other]
    assert {**numbers} == one and all(name in numbers for name in one) and "no such name" not in numbers
