"""How the terms bend at the iterate, by the model's means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from lcbo.models.border import to_array, to_tensor
from lcbo.models.gp import BatchedGP
from lcbo.steps.step import Bends
from lcbo.terms import Terms
from lcbo.types import Array


@dataclass(frozen=True)
class ModeledBends(Bends):
    """Second derivatives of the terms' means at one point.

    Attributes:
        gp: the model.
        x: ``d``, the point as the model sees it.
        width: of the model's frame: a unit of the model in the working cube.
        terms: which output a term is of, and its sign.
        trust: what derivatives are multiplied with, 0 to 1.
        straight: further terms, after the others, that do not bend.
    """

    gp: BatchedGP
    x: Tensor
    width: float
    terms: Terms
    trust: float
    straight: int = 0

    def along(self, step: Array) -> Array:
        """Return ``s' H_i s`` of every term for a step of the working cube, ``T``."""
        bends = self.gp.mean_bend(self.x, to_tensor(step / self.width, self.x))
        modeled = self.trust * self.terms.sign * to_array(bends)[self.terms.rows]
        return np.append(modeled, np.zeros(self.straight))

    def weighed(self, weights: Array) -> Array:
        """Return ``sum_i w_i H_i`` in the working cube, ``d x d``."""
        signed = weights[: len(self.terms.rows)] * self.terms.sign
        pressed = np.flatnonzero(signed)
        outputs, place = np.unique(self.terms.rows[pressed], return_inverse=True)
        hessians = to_array(self.gp.outputs(outputs).mean_hessian(self.x))
        total = np.bincount(place, signed[pressed], minlength=len(outputs))
        hessian: Array = self.trust / self.width**2 * np.tensordot(total, hessians, 1)
        return hessian
