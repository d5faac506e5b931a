"""Named numbers equal the dict that they were made of."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sweeps.numbers import Record

DICTS = st.dictionaries(st.text(max_size=5), st.floats(allow_nan=False) | st.integers(-1000, 1000), max_size=6)


@given(DICTS, DICTS)
def test_numbers_read_as_a_dict(one, other):
    numbers = Record(one).group(0)
    assert numbers == one and dict(numbers) == one and list(numbers) == list(one) and len(numbers) == len(one)
    assert (numbers == Record(other).group(0)) == (one == other)
    assert numbers | other == one | other and other | numbers == other | one
    assert [numbers.get(name) for name in other] == [one.get(name) for name in other]
    assert {**numbers} == one and all(name in numbers for name in one) and "no such name" not in numbers


@given(DICTS, DICTS, st.text(max_size=5))
def test_a_record_holds_its_groups_apart_and_its_text(one, other, text):
    record = Record(one, other, text=text)
    assert (record.group(0), record.group(1), record.text) == (one, other, text)
    assert record == Record(one, other, text=text) and record != Record(one, other, text=text + "x")
    assert (record == Record(other, one, text=text)) == (one == other)
