import json
import math
from pathlib import Path

import numpy as np
import pytest

from lcbo.problems import make
from lcbo.problems.structures.beam50 import BEAM

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "beam50.json").read_text())


def hermite_beam(width, height):
    """Tip deflection and clamp-side stresses from a 25-element finite-element model."""
    n, size = 25, 4.0
    inertia = width * height**3 / 12.0
    stiffness = np.zeros((2 * n + 2, 2 * n + 2))
    a, b, c = 12.0, 6.0 * size, size**2
    element = np.array([[a, b, -a, b], [b, 4 * c, -b, 2 * c], [-a, -b, a, -b], [b, 2 * c, -b, 4 * c]])
    for i in range(n):
        place = slice(2 * i, 2 * i + 4)
        stiffness[place, place] += 2.9e7 * inertia[i] / size**3 * element
    force = np.zeros(2 * n)
    force[-2] = 500.0
    u = np.concatenate([[0.0, 0.0], np.linalg.solve(stiffness[2:, 2:], force)])
    moment = [
        2.9e7 * inertia[i] * np.array([-6.0, -4 * size, 6.0, -2 * size]) @ u[2 * i : 2 * i + 4] / size**2
        for i in range(n)
    ]
    return u[-2], np.abs(moment) * height / 2.0 / inertia


@pytest.mark.parametrize("point", GOLDEN)
def test_golden_values(point):
    golden = GOLDEN[point]
    for alpha in (10, 20):
        outcomes = make("beam50", alpha=float(alpha)).evaluate(golden["x"])
        got = [outcomes[name] for name in ("volume", "tip", "g_stress", "g_disp")]
        np.testing.assert_allclose(
            got, [golden["volume"], golden["tip"], *golden[f"g_lse{alpha}"]], rtol=1e-9
        )
    outcomes = make("beam50", aggregate="none").evaluate(golden["x"])
    np.testing.assert_allclose([outcomes[f"stress_{i}"] for i in range(1, 26)], golden["sigma"], rtol=1e-9)


def test_agrees_with_finite_elements_at_random_points():
    problem = make("beam50", aggregate="none")
    for x in np.random.default_rng(3).uniform(0.5, 5.0, (5, 50)):
        tip, stress = hermite_beam(x[0::2], x[1::2])
        outcomes = problem.evaluate(x)
        assert outcomes["tip"] == pytest.approx(tip, rel=1e-6)
        np.testing.assert_allclose([outcomes[f"stress_{i}"] for i in range(1, 26)], stress, rtol=1e-6)


def test_closed_form_optimum():
    """All widths at 0.5; h_i = max(stress-limited height, (mu C_i)^(1/4)) with mu from the tip limit."""
    from scipy.optimize import brentq

    width = np.full((1, 25), 0.5)
    least = np.sqrt(0.15 * (100.0 - BEAM.joints[:-1]))[None, :]
    share = BEAM.load * -np.diff((100.0 - BEAM.joints) ** 3)[None, :]

    def heights(mu):
        return np.maximum(least, (mu * share) ** 0.25)

    def tip_error(log_mu):
        return BEAM.deflection(width, heights(np.exp(log_mu)))[0] - 2.5

    height = heights(np.exp(brentq(tip_error, -30.0, 10.0, xtol=1e-14)))
    x = np.stack([width[0], height[0]], axis=1).ravel()
    problem = make("beam50", aggregate="none")
    outcomes = problem.evaluate(x)
    assert outcomes["volume"] == pytest.approx(160.2530673391, abs=1e-9)
    assert outcomes["max_stress"] <= 40000.0 * (1.0 + 1e-12)
    assert problem.best_known.value == pytest.approx(outcomes["volume"], rel=1e-10)


def test_authors_scale():
    problem = make("beam50", scale="authors")
    assert problem.objective.name == "scaled_volume"
    assert problem.evaluate(np.full(50, 2.75))["scaled_volume"] == pytest.approx(7.5625)
    assert problem.noise_sd() == {"scaled_volume": 0.1, "g_stress": 0.1, "g_disp": 0.1}
    assert problem.best_known.value == pytest.approx(1.602540290333)


def test_agrees_with_a_segment_by_segment_sum():
    """The formulas of the docstring, one segment at a time in plain Python, at points of no golden file."""
    rng = np.random.default_rng(2)
    problem = make("beam50")
    for _ in range(5):
        x = rng.uniform(0.5, 5.0, 50)
        volume = tip = 0.0
        exponents = []
        for i in range(25):
            width, height = float(x[2 * i]), float(x[2 * i + 1])
            near, far = 100.0 - 4.0 * i, 100.0 - 4.0 * (i + 1)
            inertia = width * height**3 / 12.0
            volume += 4.0 * width * height
            tip += 500.0 * (near**3 - far**3) / (3.0 * 2.9e7 * inertia)
            exponents.append(20.0 * (6.0 * 500.0 * near / (width * height**2) / 40000.0 - 1.0))
        top = max(exponents)
        stress = (top + math.log(math.fsum(math.exp(e - top) for e in exponents))) / 20.0
        got = problem.evaluate(x)
        assert got["volume"] == pytest.approx(volume, rel=1e-12)
        assert got["g_stress"] == pytest.approx(stress, rel=1e-9)
        assert got["g_disp"] == pytest.approx(tip / 2.5 - 1.0, rel=1e-9)
