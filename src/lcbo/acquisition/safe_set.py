"""The optimistic safe set: candidates that no constraint rules out at a confidence level."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from lcbo.models.gp import BatchedGP
from lcbo.terms import Terms


def optimistic(gp: BatchedGP, z: Tensor, terms: Terms, beta: float) -> Tensor:
    """Which candidates have ``mu_c - beta sigma_c <= 0`` for every inequality: ``p`` flags.

    Variances cost a triangular solve per candidate, so they are computed only where they decide: the mean
    is above 0, within what the prior allows, and no earlier condition has ruled the candidate out.

    Args:
        gp: of all outputs, in the units of the conditions.
        z: ``p x d``.
        terms: the inequalities.
        beta: standard deviations of the lower confidence bound.
    """
    safe = z.new_ones(len(z), dtype=torch.bool)
    for term in terms:
        one = gp.outputs(slice(term.row, term.row + 1))
        kept = safe.nonzero().squeeze(-1)
        value = Terms((replace(term, row=0),)).values(one.mean(z[kept]), axis=-2)[0]
        prior_std = one.hyper.outputscale.sqrt()
        open_ = ((value > 0.0) & (value <= beta * prior_std)).nonzero().squeeze(-1)
        _, var = one.predict(z[kept[open_]])
        passed = value <= 0.0
        passed[open_] = value[open_] <= beta * var[0].sqrt()
        safe[kept] = passed
    return safe
