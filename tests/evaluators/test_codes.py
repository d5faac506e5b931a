from __future__ import annotations

import numpy as np
import pytest

from evaluators.codes import bytes_per_vector, stored


def test_int8_absmax_takes_its_scale_before_the_cut():
    z = np.array([[1.0, -2.0, 4.0], [0.0, 0.0, 0.0]], np.float32)
    assert stored(z, "int8").tolist() == [[32, -64, 127], [0, 0, 0]]  # 31.75, -63.5 to even, 127.
    assert stored(z, "int8", dimension=2).tolist() == [[32, -64], [0, 0]]
    assert stored(z, "int8", "int8-absmax").dtype == np.int8


def test_halves_round_to_even():
    z = np.array([[254.0, 1.0, 3.0, 5.0, -1.0, -3.0]], np.float32)
    assert stored(z, "int8").tolist() == [[127, 0, 2, 2, 0, -2]]


def test_tanh_heads():
    z = np.array([[0.0, 0.5, -3.0]], np.float32)
    assert stored(z, "int8", "int8-tanh").tolist() == [[round(127 * np.tanh(each)) for each in (0.0, 0.5, -3.0)]]
    assert np.allclose(stored(z, "float32", "int8-tanh"), np.tanh(z))
    assert np.array_equal(stored(z, "float32", "none"), z)


def test_the_sign_of_zero_is_plus_one():
    assert stored(np.array([[0.0, -0.0, -1e-30, 2.0]], np.float32), "binary").tolist() == [[1, 1, -1, 1]]


@pytest.mark.parametrize(("precision", "size"), [("float32", 40), ("int8", 10), ("binary", 2)])
def test_bytes(precision, size):
    assert bytes_per_vector(10, precision) == size


def test_unknown_names_are_refused():
    for precision, quantiser in (("int4", "none"), ("int8", "int8-max")):
        with pytest.raises(ValueError):
            stored(np.ones((1, 2), np.float32), precision, quantiser)
