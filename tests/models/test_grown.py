"""A grown model against one of all its points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from lcbo.models.builder import WindowBuilder
from lcbo.models.data import merge
from lcbo.models.fits.lattice import LatticeFit
from lcbo.models.gp import BatchedGP
from lcbo.models.grown import GrownGP
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.models.information import GradientInformation
from lcbo.models.repeats import Repeats

DIM, BASE, N = 4, 9, 15


def observations(missing: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    u, y = rng.random((N, DIM)), rng.standard_normal((N, 3))
    u[2], u[12] = u[1], u[11]
    if missing:
        y[3, 1] = y[13, 2] = np.nan
    return u, y


def hyperparameters() -> Hyperparameters:
    given = {"lengthscale": [0.5, 1.0, 2.0], "noise_var": [0.01, 0.1, 1e-6], "mean": [0.0, 1.0, 2.0]}
    return replace(Hyperparameters.start(3, "matern52", given), plane=0.8)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("cuts", [(BASE,), (BASE, 11), (BASE, 10, 11, 13)])
def test_growing_equals_building(missing: bool, cuts: tuple[int, ...]) -> None:
    u, y = observations(missing)
    whole = BatchedGP(merge(u, y), hyperparameters())
    parts = [merge(u[i:j], y[i:j]) for i, j in zip((0, *cuts), (*cuts, N), strict=True)]
    gp: BatchedGP = GrownGP(BatchedGP(parts[0], whole.hyper))
    for part in parts[1:]:
        gp = gp.conditioned(part.u, part.count)
    gp = gp.with_targets(torch.cat([part.y for part in parts], -1))
    z = torch.from_numpy(np.random.default_rng(1).random((5, DIM)))
    for rows in (slice(None), slice(1, 3), np.array([2, 0])):
        some, expected = gp.outputs(rows), whole.outputs(rows)
        for found, known in zip(some.predict(z), expected.predict(z), strict=True):
            torch.testing.assert_close(found, known, rtol=1e-9, atol=1e-11)
        for found, known in zip(some.gradient(z[0]), expected.gradient(z[0]), strict=True):
            torch.testing.assert_close(found, known, rtol=1e-9, atol=1e-9)
        found, known = (GradientInformation(model, z[0]).joint(z[None, 1:]) for model in (some, expected))
        torch.testing.assert_close(found, known, rtol=1e-9, atol=1e-9)
    rhs = torch.from_numpy(np.random.default_rng(2).standard_normal((3, len(whole.u), 2)))
    torch.testing.assert_close(gp.factor @ gp.whiten(rhs), rhs)
    torch.testing.assert_close(gp.factor.mT @ gp.unwhiten(rhs), rhs)


@pytest.mark.parametrize("shared", [False, True])
def test_a_builder_keeps_the_base_until_the_next_fit(shared: bool) -> None:
    """The models are those without a base, also where a new point repeats one of it."""
    rng = np.random.default_rng(3)
    u, y = rng.random((20, DIM)), rng.standard_normal((20, 3))
    if shared:
        u[17] = u[9]
    repeats = Repeats((None, None, None))
    with_base, without = (
        WindowBuilder(
            hyperparameters(), LatticeFit(), standardize=True, average_repeats=False, noise_var=(None,) * 3
        )
        for _ in range(2)
    )
    z = torch.from_numpy(rng.random((5, DIM)))
    for start in (0, 2, 4):
        window = slice(start, start + 16)
        lasting = np.arange(start, start + 16) < 16
        lasting &= np.arange(start, start + 16) >= 4
        found = with_base.build(u[window], y[window], repeats, start == 0, lasting=lasting).gp
        expected = without.build(u[window], y[window], repeats, start == 0).gp
        assert isinstance(found, GrownGP) == (not shared or start < 2)
        for one, other in zip(found.predict(z), expected.predict(z), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-10)
