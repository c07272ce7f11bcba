"""Scalar logarithms and exponentials over arrays."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scoring import exact


def test_log_and_exp_are_the_c_librarys_to_the_last_bit() -> None:
    values = np.random.default_rng(3).uniform(1e-9, 50, (40, 25))
    logs, exps = exact.log(values), exact.exp(values)
    assert logs.shape == exps.shape == (40, 25)
    for i in range(40):
        for j in range(25):
            assert logs[i, j] == math.log(values[i, j])
            assert exps[i, j] == math.exp(values[i, j])


def test_integers_empty_arrays_and_single_numbers_are_taken() -> None:
    assert exact.log(np.array([1, 2], np.uint32)).tolist() == [0.0, math.log(2)]
    assert exact.log(np.zeros((3, 0))).shape == (3, 0)
    assert float(exact.exp(np.array(1.0))) == math.e


def test_log_of_zero_is_an_error() -> None:
    with pytest.raises(ValueError):
        exact.log(np.array([0.0]))


def test_rounded_gives_multiples_of_a_power_of_two_and_hides_the_last_bit() -> None:
    step = 2.0**-40
    values = np.array([math.log(3), 0.1, 0.0, 7.5, -math.pi])
    rounded = exact.rounded(values)
    assert np.abs(rounded - values).max() <= step / 2
    assert (rounded / step == np.rint(rounded / step)).all()
    assert rounded[3] == 7.5
    assert exact.rounded(np.nextafter(values[:2], 9)).tolist() == rounded[:2].tolist()
    assert exact.rounded(np.array([step, 0.4 * step])).tolist() == [step, 0.0]
