"""The suite's problems: their split, their answers, the mechanics and the convexity behind them."""

from importlib.util import find_spec

import numpy as np
import pytest
from scipy.optimize import minimize
from suite_problems import (
    ENTRIES,
    HALVES,
    KINDS,
    Coco,
    ConvexProgram,
    DrawnTruss,
    Entry,
    Posed,
    SteppedBeam,
    posed,
)

import lcbo
from lcbo import Constraint
from lcbo.problems import Benchmark

HERE = [e for e in ENTRIES if e.factory is not Coco or find_spec("cocoex") is not None]


def test_every_kind_has_several_problems_in_each_half():
    assert len({e.name for e in ENTRIES}) == len(ENTRIES) >= 30
    for kind in KINDS:
        for half in HALVES:
            assert sum(e.kind == kind and e.half == half for e in ENTRIES) >= 4


def test_a_function_of_coco_is_on_one_side_only():
    sides = [{e.arguments["function"] for e in ENTRIES if e.factory is Coco and e.half == h} for h in HALVES]
    assert not sides[0] & sides[1]


def test_gp_samples_have_seeds_below_100():
    seeds = [e.arguments["seed"] for e in ENTRIES if e.arguments.get("name") == "gp_sample"]
    assert seeds
    assert max(seeds) < 100


@pytest.mark.parametrize("entry", HERE, ids=lambda e: e.name)
def test_known_answer_is_feasible_has_its_value_and_no_better_neighbor(entry: Entry):
    problem = posed(entry.name)
    known = problem.truth.best_known
    assert known is not None
    value, violation = problem.judge(known.x[None])
    assert violation[0] == 0.0
    assert value[0] == pytest.approx(known.value, rel=1e-9, abs=1e-9)
    width = problem.truth.ub - problem.truth.lb
    size = 10.0 ** -np.linspace(2.0, 5.0, 300)[:, None]
    near = known.x + size * width * np.random.default_rng(0).standard_normal((300, problem.dim))
    values, violations = problem.judge(np.clip(near, problem.truth.lb, problem.truth.ub))
    exact = not any(c.eq is not None for c in problem.truth.constraints)
    room = 1e-6 if exact else 0.02  # the tolerance of an equality buys a little
    assert (
        values[violations == 0.0] >= known.value - room * problem.scale[problem.truth.objective.name]
    ).all()


@pytest.mark.parametrize(("shape", "seed"), [((4, 2), 1), ((6, 3), 5), ((2, 2, 3), 2)])
def test_drawn_truss_is_in_equilibrium_and_its_strains_follow_the_nodes(shape: tuple[int, ...], seed: int):
    problem = DrawnTruss(shape, seed)
    truss, axes = problem.truss, len(shape)
    areas = np.random.default_rng(0).uniform(problem.lb, problem.ub)
    response = truss.respond(areas[None], problem.force)
    moved = np.zeros_like(truss.nodes)
    moved[truss.free_nodes] = response.displacement[0].reshape(-1, axes)
    pull = np.zeros_like(truss.nodes)
    for (a, b), area, stress in zip(truss.bars, areas, response.stress[0], strict=True):
        axis = truss.nodes[b] - truss.nodes[a]
        unit = axis / np.linalg.norm(axis)
        pull[a] += area * stress * unit
        pull[b] -= area * stress * unit
        strain = unit @ (moved[b] - moved[a]) / np.linalg.norm(axis)
        assert stress == pytest.approx(1.0e7 * strain, rel=1e-9, abs=1e-6)
    load = problem.force.reshape(-1, axes)
    np.testing.assert_allclose(pull[truss.free_nodes], -load, atol=1e-8 * np.abs(load).max())
    outcomes = problem.evaluate(areas)
    assert outcomes["stress_1"] == pytest.approx(response.stress[0, 0])
    assert outcomes["weight"] == pytest.approx(0.1 * areas @ truss.lengths)


def test_some_problems_have_dozens_of_active_constraints():
    def active(name: str) -> int:
        problem = posed(name)
        at = problem.truth.evaluate(problem.truth.best_known.x)
        limits = problem.truth.constraints
        return sum(abs(c.slack(at[c.name])) <= 1e-8 * problem.scale[c.name] for c in limits)

    assert active("truss-6x3-s5") >= 24
    assert active("program-d30-g60-a36-h0-s3") == 36


def test_stepped_beam_agrees_with_the_beam_of_the_library():
    ours, theirs = SteppedBeam(25, 500.0, each=False), lcbo.problems.make("beam50")
    x = np.random.default_rng(0).uniform(ours.lb, ours.ub)
    mine, other = ours.evaluate(x), theirs.evaluate(x)
    assert [mine["volume"], mine["stress"], mine["tip"]] == pytest.approx(
        [other["volume"], other["g_stress"], other["g_disp"]]
    )
    each = SteppedBeam(25, 500.0, each=True).evaluate(x)
    assert max(each[f"stress_{i}"] for i in range(1, 26)) == pytest.approx(
        other["max_stress"] / 40_000.0 - 1.0
    )


@pytest.mark.parametrize("equalities", [0, 3])
def test_another_solver_finds_the_answer_of_a_convex_program(equalities: int):
    problem = ConvexProgram(8, 12, 7, equalities, seed=3)
    sides = [
        {"type": "ineq" if c.eq is None else "eq", "fun": lambda x, n=c.name: -problem.evaluate(x)[n]}
        for c in problem.constraints
    ]
    found = minimize(
        lambda x: problem.evaluate(x)["f"],
        np.zeros(8),
        method="SLSQP",
        bounds=problem.bounds,
        constraints=sides,
    )
    assert found.fun == pytest.approx(1.0, abs=1e-5)
    np.testing.assert_allclose(found.x, problem.best_known.x, atol=1e-3)


class Line(Benchmark):
    """One variable in [0, 2], ``g = x - 1 <= 0`` and perhaps ``h = x - 1 = 0``."""

    def __init__(self, equality: bool = False) -> None:
        limit = Constraint("g", eq=0.0, tol=0.5) if equality else Constraint("g", ub=0.0)
        super().__init__(
            np.array([[0.0, 2.0]]), [limit], "f", best_known=None, noise_scale={"f": 1.0, "g": 1.0}
        )

    def outcomes_at(self, X: np.ndarray) -> dict[str, np.ndarray]:
        return {"f": X[:, 0], "g": X[:, 0] - 1.0}


def test_tolerances_are_in_units_of_the_spread_over_the_box():
    problem = Posed(Line())
    assert problem.scale["g"] == pytest.approx(1.0 / 1.35, rel=0.1)  # half of the box in the quartiles
    unit = problem.scale["g"]
    values, violation = problem.judge(
        np.array([[0.5], [1.0 + 0.5e-9 * unit], [1.0 + 2e-9 * unit], [1.0 + unit]])
    )
    assert values[0] == 0.5
    assert list(violation[:2]) == [0.0, 0.0]
    assert violation[2:] == pytest.approx([2e-9, 1.0], rel=1e-6)
    equality = Posed(Line(equality=True))
    assert equality.truth.constraints[0].tol == pytest.approx(1e-3 * equality.scale["g"])
    assert equality.noisy(0.0, 0).constraints[0].tol == equality.truth.constraints[0].tol


def test_noise_is_in_units_of_the_spread():
    problem = Posed(Line())
    seen = problem.noisy(0.1, seed=3)
    sample = np.array([[seen.fun(np.array([0.5]))[name] for name in ("f", "g")] for _ in range(2000)])
    wanted = [0.1 * problem.scale[name] for name in ("f", "g")]
    assert sample.std(axis=0) == pytest.approx(wanted, rel=0.05)
    assert sample.mean(axis=0) == pytest.approx([0.5, -0.5], abs=0.01)
    again = problem.noisy(0.1, seed=3)
    assert again.fun(np.array([0.5]))["f"] == sample[0, 0]


def test_reference_value_is_the_median_and_that_of_coco_its_start():
    assert Posed(Line()).f0 == pytest.approx(1.0, abs=0.1)
    pytest.importorskip("cocoex")
    problem = posed("coco-f2-d20-i1")
    start = problem.truth.start
    assert problem.f0 == problem.truth.evaluate(start)["f"]
    assert problem.judge(start[None])[1][0] == 0.0
    assert problem.truth.best_known.value < problem.f0


def test_budget_is_capped():
    assert posed("beam-25").budget(20) == 1000
    assert posed("beam-50").budget(20) == posed("beam-50").budget(40) == 2000
