"""A matrix with multiples of the identity added, against its eigenvalues and against plain solves."""

from __future__ import annotations

import numpy as np
import pytest

from lcbo.models.fits.shifted import Shifted

SHIFTS = np.geomspace(1e-3, 1e2, 7)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 40])
def test_determinants_and_forms_are_those_of_the_matrices(n: int) -> None:
    rng = np.random.default_rng(n)
    half, y = rng.standard_normal((2, n, n + 2)), rng.standard_normal((3, n))
    a = half @ half.swapaxes(1, 2)
    shifted = Shifted(a.copy(), y)
    volume, forms = shifted(SHIFTS)
    for i, plain in enumerate(a):
        for k, shift in enumerate(SHIFTS):
            whole = plain + shift * np.eye(n)
            np.testing.assert_allclose(volume[i, k], np.linalg.slogdet(whole)[1], rtol=1e-10, atol=1e-10)
            expected = (y * np.linalg.solve(whole, y.T).T).sum(1)
            np.testing.assert_allclose(forms[i, :, k], expected, rtol=1e-9)
    np.testing.assert_allclose(shifted(SHIFTS, [2, 0])[1], forms[:, [2, 0]], rtol=1e-13)


def test_what_rounding_makes_indefinite_is_treated_as_singular() -> None:
    ones = np.full((1, 30, 30), 1e6)
    along, across = np.ones(30), np.append(np.ones(15), -np.ones(15))
    volume, forms = Shifted(ones, np.array([along, across]))(np.array([1e-12, 1.0]))
    assert np.isfinite(volume).all()
    np.testing.assert_allclose(forms[0, :, 1], [30.0 / (3e7 + 1.0), 30.0], rtol=1e-6)
    assert (forms[..., 0] > 0.0).all()


@pytest.mark.parametrize("coordinates", [1, 4, 6])
def test_coordinates_are_summed_in_portions(coordinates: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    half, y = rng.standard_normal((2, 6, 6)), rng.standard_normal((5, 6))
    whole = Shifted(half @ half.swapaxes(1, 2), y)(SHIFTS)[1]
    monkeypatch.setattr("lcbo.models.fits.shifted.PORTION", coordinates * 2 * 5 * len(SHIFTS))
    np.testing.assert_allclose(Shifted(half @ half.swapaxes(1, 2), y)(SHIFTS)[1], whole, rtol=1e-13)


def test_no_data_have_no_forms() -> None:
    assert Shifted(np.eye(4)[None].copy(), np.zeros((0, 4)))(SHIFTS)[1].shape == (1, 0, len(SHIFTS))
