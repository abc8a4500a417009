import json
import time
from pathlib import Path

import numpy as np
import pytest

from lcbo.problems import make
from lcbo.problems.structures.truss25 import BARS, DENSITY, LOADS, MODULUS, NODES, SUPPORTS, TRUSS

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "truss25.json").read_text())
GROUPS = np.repeat(np.arange(8), [1, 4, 4, 2, 2, 4, 4, 4])
# loads and group compressive limits (psi) of the classic problem with two load cases
TWO_CASES = (
    {1: (0.0, 20000.0, -5000.0), 2: (0.0, -20000.0, -5000.0)},
    {1: (1000.0, 10000.0, -5000.0), 2: (0.0, 10000.0, -5000.0), 3: (500.0, 0.0, 0.0), 6: (500.0, 0.0, 0.0)},
)
BUCKLING = np.array([35092.0, 11590.0, 17305.0, 35092.0, 35092.0, 6759.0, 6959.0, 11082.0])


def assembled_by_hand(areas, loads):
    """Displacements and stresses from a full 30 x 30 stiffness matrix, one bar at a time."""
    nodes = np.array(NODES)
    stiffness = np.zeros((30, 30))
    for (i, j), area in zip(BARS, areas, strict=True):
        span = nodes[j - 1] - nodes[i - 1]
        length = np.linalg.norm(span)
        block = MODULUS * area / length**3 * np.outer(span, span)
        rows, columns = slice(3 * i - 3, 3 * i), slice(3 * j - 3, 3 * j)
        stiffness[rows, rows] += block
        stiffness[columns, columns] += block
        stiffness[rows, columns] -= block
        stiffness[columns, rows] -= block
    free = [3 * (n - 1) + k for n in range(1, 11) if n not in SUPPORTS for k in range(3)]
    force = np.zeros((10, 3))
    for node, value in loads.items():
        force[node - 1] = value
    u = np.zeros(30)
    u[free] = np.linalg.solve(stiffness[np.ix_(free, free)], force.ravel()[free])
    stress = []
    for i, j in BARS:
        span = nodes[j - 1] - nodes[i - 1]
        stress.append(MODULUS * span @ (u[3 * j - 3 : 3 * j] - u[3 * i - 3 : 3 * i]) / (span @ span))
    return u[free], np.array(stress)


@pytest.mark.parametrize("load", ["case1", "node1"])
@pytest.mark.parametrize("point", GOLDEN)
def test_golden_values(load, point):
    golden = GOLDEN[point]
    for alpha in (10, 20):
        outcomes = make("truss25", load=load, alpha=float(alpha)).evaluate(golden["x"])
        got = [outcomes["weight"], outcomes["g_stress"], outcomes["g_disp"]]
        np.testing.assert_allclose(got, [golden["weight"], *golden[load][f"g_lse{alpha}"]], rtol=1e-9)
    plain = make("truss25", load=load, aggregate="none")
    outcomes = plain.evaluate(golden["x"])
    stress, disp = golden[load]["sigma"], golden[load]["u"]
    limit = 1e-9 * np.abs(stress).max(), 1e-9 * np.abs(disp).max()
    np.testing.assert_allclose([outcomes[n] for n in plain.stress_names], stress, rtol=1e-9, atol=limit[0])
    np.testing.assert_allclose([outcomes[n] for n in plain.disp_names], disp, rtol=1e-9, atol=limit[1])
    assert outcomes["max_stress"] == pytest.approx(np.abs(stress).max(), rel=1e-9)
    assert outcomes["max_disp"] == pytest.approx(np.abs(disp).max(), rel=1e-9)


@pytest.mark.parametrize("load", ["case1", "node1"])
def test_agrees_with_a_full_assembly_at_random_points(load):
    problem = make("truss25", load=load)
    areas = np.random.default_rng(7).uniform(0.01, 5.0, (20, 25))
    batch = problem.evaluate_batch(areas)
    response = TRUSS.respond(areas, problem.force)
    for k, x in enumerate(areas):
        u, stress = assembled_by_hand(x, LOADS[load])
        np.testing.assert_allclose(response.displacement[k], u, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(response.stress[k], stress, rtol=1e-9, atol=1e-7)
        for name, ratio in (("g_stress", abs(stress) / 40000 - 1), ("g_disp", abs(u) / 0.35 - 1)):
            assert batch[name][k] == pytest.approx(np.log(np.exp(20 * ratio).sum()) / 20, rel=1e-9)


def test_smoothing_never_underestimates():
    problem = make("truss25")
    outcomes = problem.evaluate_batch(np.random.default_rng(1).uniform(0.01, 5.0, (200, 25)))
    excess = outcomes["g_disp"] - (outcomes["max_disp"] / 0.35 - 1.0)
    assert np.all(excess >= 0.0)
    assert np.all(excess <= np.log(18) / 20 + 1e-12)


def test_thousand_designs_in_half_a_second():
    problem = make("truss25")
    areas = np.random.default_rng(0).uniform(0.01, 5.0, (1000, 25))
    problem.evaluate_batch(areas[:10])
    start = time.perf_counter()
    problem.evaluate_batch(areas)
    assert time.perf_counter() - start < 0.5


def test_authors_scale():
    natural, scaled = make("truss25", load="node1"), make("truss25", load="node1", scale="authors")
    x = np.linspace(0.5, 3.0, 25)
    assert scaled.objective.name == "scaled_weight"
    assert scaled.evaluate(x)["scaled_weight"] == pytest.approx(natural.evaluate(x)["weight"] / 100.0)
    assert scaled.noise_sd() == {"scaled_weight": 0.1, "g_stress": 0.1, "g_disp": 0.1}
    assert scaled.best_known.value == pytest.approx(2.5375787819)
    assert natural.noise_sd() == pytest.approx({"weight": 10.0, "g_stress": 0.1, "g_disp": 0.1})


def test_feasible_fraction_of_case1():
    X = np.random.default_rng(0).uniform(0.01, 5.0, (20000, 25))
    outcomes = make("truss25").evaluate_batch(X)
    feasible = (outcomes["g_stress"] <= 0.0) & (outcomes["g_disp"] <= 0.0)
    assert feasible.mean() == pytest.approx(0.134, abs=0.01)


def lightest_groups(low, loads, compression):
    """Smallest weight of the truss with 8 groups, by SLSQP from several starts."""
    from scipy.optimize import minimize

    forces = [TRUSS.load_vector(load) for load in loads]

    def slack(areas):
        parts = []
        for force in forces:
            response = TRUSS.respond(np.atleast_2d(areas)[:, GROUPS], force)
            parts += [1.0 - np.abs(response.displacement) / 0.35, 1.0 - response.stress / 40000.0]
            parts += [1.0 + response.stress / compression]
        return np.concatenate(parts, axis=1)

    def slack_gradient(areas):
        step = 1e-7
        shifted = areas + step * np.vstack([np.eye(8), -np.eye(8)])
        values = slack(shifted)
        return (values[:8] - values[8:]).T / (2.0 * step)

    cost = DENSITY * np.bincount(GROUPS, weights=TRUSS.lengths)
    best = np.inf
    for start in np.random.default_rng(0).uniform(max(low, 0.5), 3.4, (6, 8)):
        end = minimize(
            lambda a: cost @ a,
            start,
            jac=lambda _: cost,
            bounds=[(low, 3.4)] * 8,
            constraints={"type": "ineq", "fun": lambda a: slack(a)[0], "jac": slack_gradient},
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-10},
        )
        if slack(end.x).min() > -1e-8:
            best = min(best, end.fun)
    return best


def test_published_optimum_of_eight_groups_case1():
    weight = lightest_groups(0.1, [LOADS["case1"]], np.full(25, 40000.0))
    assert weight == pytest.approx(484.05142356630046, rel=1e-6)


def test_published_optimum_of_eight_groups_two_load_cases():
    weight = lightest_groups(0.01, TWO_CASES, BUCKLING[GROUPS])
    assert weight == pytest.approx(545.1627102414792, rel=1e-6)
