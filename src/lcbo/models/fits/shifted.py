"""Symmetric matrices with many multiples of the identity added: determinants and quadratic forms.

With ``A = Q T Q^T`` and T tridiagonal, ``A + q I`` has the determinant of ``T + q I``, which O(n) operations
factorize. No eigenvector is needed, and they are most of the work of an eigendecomposition.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from lcbo.types import Array

PORTION = 2**20  # numbers that are solved for at once
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
        forms = np.empty((size, m, k))
        each = max(PORTION // (size * k * n), 1)
        for i in range(0, m, each):
            part = y[:, i : i + each]
            right = np.repeat(part.swapaxes(0, 1)[:, :, None], k, 2)  # m x l x k x n
            solved, _ = lapack.dpttrs(pivots, multipliers, right.reshape(len(right), -1).T)
            solved = solved.T.reshape(right.shape).swapaxes(0, 1)
            forms[:, i : i + each] = (solved @ part[..., None]).squeeze(-1)
        return np.log(pivots).reshape(size, k, n).sum(-1), forms
