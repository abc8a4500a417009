"""Symmetric matrices with many multiples of the identity added: determinants and quadratic forms.

With ``A = Q T Q^T`` and T tridiagonal, ``A + q I`` has the determinant of ``T + q I``, which O(n) operations
factorize. No eigenvector is needed, and they are most of the work of an eigendecomposition.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from lcbo.types import Array

PORTION = 2**18  # numbers that are kept before they are summed: what a cache holds
ROUNDING = (0.0, *(np.finfo(np.float64).eps * 10.0 ** np.arange(16)))  # over the size of the matrix


class Shifted:
    """Positive semidefinite matrices, and data in the basis Q of each.

    Args:
        a: ``l x n x n``; it is overwritten.
        y: ``m x n`` data.
    """

    def __init__(self, a: Array, y: Array) -> None:
        size, self.n = a.shape[:2]
        self.diagonal, self.beside = np.zeros((2, size, self.n))  # T
        self.y = np.empty((size, *y.shape))  # Q^T y
        for i in range(size if self.n else 0):
            self._reduce(i, a[i], y)
        self.norm = (np.abs(self.diagonal) + 2.0 * np.abs(self.beside)).max(-1, initial=0.0)

    def _reduce(self, i: int, a: Array, y: Array) -> None:
        """Bring one matrix to its T, and the data with it."""
        work = 64 * self.n
        a, self.diagonal[i], self.beside[i, :-1], tau, _ = lapack.dsytrd(a.T, 1, lwork=work, overwrite_a=1)
        self.y[i] = y
        if self.n > 1:
            # Q leaves the first coordinate alone; the others it turns as the Q of a QR decomposition does.
            self.y[i, :, 1:] = lapack.dormqr("L", "T", a[1:, :-1], tau, self.y[i, :, 1:].T, work)[0].T

    def __call__(self, shifts: Array, rows: list[int] | slice = slice(None)) -> tuple[Array, Array]:
        """Return ``ln |A + q I|``, ``l x k``, and ``y^T (A + q I)^-1 y``, ``l x m x k``.

        Args:
            shifts: ``k`` positive numbers q.
            rows: of the data.
        """
        y = self.y[:, rows]
        (size, m, n), k = y.shape, len(shifts)
        if n == 0:
            return np.zeros((size, k)), np.zeros((size, m, k))
        # One matrix below the other: between two of them is a zero.
        below = np.repeat(self.beside[:, None], k, 1).ravel()[:-1]
        for rounding in ROUNDING:
            levels = self.diagonal[:, None] + (shifts + rounding * self.norm[:, None])[..., None]
            pivots, multipliers, failed = lapack.dpttrf(levels.ravel(), below, overwrite_d=1)
            if not failed:
                break
        # From here on the coordinates come first, as they are gone through one by one.
        weights = np.moveaxis(1.0 / pivots.reshape(size, k, n), -1, 0).copy()
        factors = np.moveaxis(np.append(0.0, multipliers).reshape(size, k, n), -1, 0).copy()
        factors[0] = 0.0
        forms = _forms(factors, weights, y.transpose(2, 1, 0).copy()).swapaxes(0, 1)
        return np.log(pivots).reshape(size, k, n).sum(-1), forms


def _forms(factors: Array, weights: Array, y: Array) -> Array:
    """Return ``y^T (E D E^T)^-1 y = sum_i z_i^2 / D_i`` with ``E z = y``, ``m x l x k``.

    E has ones on its diagonal, so ``z_i = y_i - E_i,i-1 z_i-1``. All of z together would be too large for a
    cache: some coordinates at a time are squared and added up.

    Args:
        factors: ``n x l x k``, what is beside the diagonal of E, the first being 0.
        weights: ``n x l x k``, ``1 / D``.
        y: ``n x m x l``.
    """
    (n, size, k), m = factors.shape, y.shape[1]
    each = min(max(PORTION // (m * size * k), 1), n) if m else 1
    z, forms = np.zeros((each, m, size, k)), np.zeros((m, size, k))
    last = forms.copy()
    for first in range(0, n, each):
        some, part = slice(first, first + each), z[: n - first]
        for now, factor, right in zip(part, factors[some], y[some, ..., None], strict=True):
            np.multiply(last, factor, out=now)
            last = np.subtract(right, now, out=now)
        last = last.copy()
        part *= part
        part *= weights[some, None]
        forms += part.sum(0)
    return forms
