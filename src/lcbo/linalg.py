"""The only Cholesky and jitter code of the library."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

from lcbo.errors import ModelError, NumericalRescueWarning

JITTERS = (0.0, 1e-10, 1e-9, 1e-8)  # relative to the mean diagonal: one plain try, then the ladder


def cholesky(a: Tensor, out: Tensor | None = None) -> Tensor:
    """Lower factors of a batch of symmetric matrices, each with the least jitter that works.

    Args:
        a: ``... x n x n`` symmetric, positive definite up to rounding; above the diagonal it is not read.
        out: where to put the factors.

    Returns:
        ``L`` with ``L L^T = a + jitter * mean(diag(a)) * I``; the jitter is 0 unless needed.

    Raises:
        ModelError: when the last rung of the ladder fails too.
    """
    factor: Tensor
    factor, info = _factor(a, out)
    if not bool(info.any()):
        return factor
    level = a.diagonal(dim1=-2, dim2=-1).mean(-1)
    eye = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    for jitter in JITTERS[1:]:
        bump = jitter * level * (info > 0)
        factor, info = _factor(a + bump[..., None, None] * eye, out)
        if not bool(info.any()):
            warnings.warn(
                f"a covariance matrix needed jitter {jitter:g}", NumericalRescueWarning, stacklevel=2
            )
            return factor
    raise ModelError(f"Cholesky failed with relative jitter {JITTERS[-1]:g} on a {a.shape[-1]}-point model")


def _factor(a: Tensor, out: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return factors and, where it failed, a number above 0."""
    where = None if out is None else (out, a.new_empty(a.shape[:-2], dtype=torch.int32))
    factor, info = torch.linalg.cholesky_ex(a, out=where)
    return factor, info
