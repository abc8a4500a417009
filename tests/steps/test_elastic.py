"""The elastic step against bounds from duality, a general SQP solver and problems solved by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from lcbo.steps import elastic
from lcbo.steps.elastic import ElasticSolution, elastic_step

CLOSE = 1e-6  # of the objective, in units of the goal's slope and the radius


@dataclass(frozen=True)
class Case:
    goal: np.ndarray
    rows: np.ndarray
    offset: np.ndarray
    two_sided: np.ndarray
    low: np.ndarray
    high: np.ndarray
    weight: float | np.ndarray
    curvature: np.ndarray | None = None

    def solve(self) -> ElasticSolution:
        return elastic_step(**vars(self))

    def missed(self, s: np.ndarray) -> np.ndarray:
        reached = self.offset + self.rows @ s
        return np.where(self.two_sided, np.abs(reached), np.maximum(reached, 0.0))

    def bent(self, s: np.ndarray) -> np.ndarray:
        return np.zeros(len(s)) if self.curvature is None else self.curvature @ s

    def merit(self, s: np.ndarray) -> float:
        penalty = float(np.sum(self.weight * self.missed(s)))
        return float(self.goal @ s + 0.5 * s @ self.bent(s)) + penalty

    def bound(self, solution: ElasticSolution) -> float:
        """A number that no feasible step's merit is below, by weak duality, however bad the solution is.

        The penalty is at least multipliers times rows, and the curvature's term at least its tangent at any
        point. What remains is linear; the ball is relaxed with a multiplier, and the box solved by sight.
        """
        y, s = solution.multipliers, solution.step
        slope = self.goal + y @ self.rows + self.bent(s)

        def relaxed(log_nu: float) -> float:
            nu = np.exp(log_nu)
            v = np.clip(-slope / nu, self.low, self.high)
            return float(slope @ v + 0.5 * nu * (v @ v - 1.0))

        size = np.log(np.linalg.norm(slope) + 1e-30)
        best = minimize_scalar(
            lambda a: -relaxed(a), bounds=(size - 40.0, size + 1.0), options={"xatol": 1e-12}
        )
        return float(y @ self.offset) - 0.5 * float(s @ self.bent(s)) - best.fun


def plain(goal: list[float] | np.ndarray, *rows: tuple[list[float], float], weight: float = 100.0) -> Case:
    """One-sided rows ``(a, b)`` without bounds."""
    d = len(goal)
    a, b = np.array([row for row, _ in rows]).reshape(-1, d), np.array([offset for _, offset in rows])
    infinite = np.full(d, np.inf)
    return Case(np.array(goal), a, b, np.zeros(len(b), bool), -infinite, infinite, weight)


def equalities(case: Case) -> Case:
    return replace(case, two_sided=np.ones(len(case.offset), bool))


def check(case: Case, close: float = CLOSE) -> ElasticSolution:
    """Solve and check everything that holds for every problem."""
    solution = case.solve()
    s, y = solution.step, solution.multipliers
    assert np.all((case.low <= s) & (s <= case.high))
    assert np.linalg.norm(s) <= 1.0 + 1e-15
    assert np.all(y <= case.weight)
    assert np.all(y >= np.where(case.two_sided, -1.0, 0.0) * case.weight)
    assert solution.violation == case.missed(s).sum()
    assert case.merit(s) <= case.merit(np.zeros(len(s))) * (1.0 + 1e-14)
    assert case.merit(s) - case.bound(solution) <= close
    return solution


def random_rows(rng: np.random.Generator, terms: int, dim: int) -> np.ndarray:
    """Unit rows of a condition up to 1e6, often dependent, opposite or repeated."""
    rows = rng.standard_normal((terms, dim))
    left, sizes, right = np.linalg.svd(rows, full_matrices=False)
    rows = (left * np.geomspace(1.0, 10.0 ** -rng.uniform(0.0, 6.0), len(sizes))) @ right
    if rng.random() < 0.3 and terms > 1:
        copies = terms // 2
        factor = rng.choice([1.0, -1.0, 1.0 + 1e-9], (copies, 1))
        rows[rng.integers(0, terms, copies)] = factor * rows[rng.integers(0, terms, copies)]
    if rng.random() < 0.3 and terms > 2:
        rows[-1] = rows[0] + 0.5 * rows[1]
    if rng.random() < 0.1 and terms > 1:
        rows = rows[:1] + 10.0 ** -rng.uniform(3.0, 12.0) * rng.standard_normal(rows.shape)
    return rows / np.maximum(np.linalg.norm(rows, axis=1), 1e-300)[:, None]


def random_bound(rng: np.random.Generator, dim: int) -> np.ndarray:
    place = rng.random(dim)
    near, far = rng.uniform(0.0, 0.3, dim), rng.uniform(0.0, 10.0, dim)
    tiny = 10.0 ** -rng.uniform(4.0, 14.0, dim)
    choices = [place < 0.2, place < 0.4, place < 0.45, place < 0.55]
    return np.select(choices, [np.zeros(dim), near, tiny, np.full(dim, np.inf)], far)


def random_curvature(rng: np.random.Generator, dim: int) -> np.ndarray:
    root = rng.standard_normal((dim, int(rng.integers(1, dim + 1))))
    return 10.0 ** rng.uniform(-3.0, 3.0) * root @ root.T / dim


def random_case(seed: int, dim: int | None = None, terms: int | None = None) -> Case:
    """Rows that can be met in half of the cases, with and without a curvature, some without a goal."""
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(10, 101)) if dim is None else dim
    terms = int(rng.integers(1, 61)) if terms is None else terms
    rows = random_rows(rng, terms, dim) if terms else np.zeros((0, dim))
    low, high = -random_bound(rng, dim), random_bound(rng, dim)
    two_sided = rng.random(terms) < rng.choice([0.0, 0.2, 0.6])
    goal, inner = rng.standard_normal((2, dim))
    inner = np.clip(0.5 * inner / np.linalg.norm(inner), low, high)
    slack = np.where(two_sided, 0.0, rng.uniform(0.0, 0.3, terms) * (rng.random(terms) < 0.6))
    shift = rng.choice([0.0, 0.0, 1.0]) * rng.uniform(0.0, 1.0, terms)
    weight = 10.0 ** rng.uniform(1.5, 4.0, terms if rng.random() < 0.2 else None)
    return Case(
        goal / np.linalg.norm(goal) if rng.random() < 0.9 else np.zeros(dim),
        rows,
        np.clip(-rows @ inner - slack + shift, -3.0, 3.0),
        two_sided,
        low,
        high,
        weight,
        random_curvature(rng, dim) if rng.random() < 0.4 else None,
    )


@pytest.mark.parametrize("seed", range(60))
def test_no_step_is_better(seed: int) -> None:
    check(random_case(seed))


@pytest.mark.parametrize("seed", range(60))
def test_no_step_is_better_in_few_dimensions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    check(random_case(seed, dim=int(rng.integers(1, 8)), terms=int(rng.integers(0, 12))))


def test_rows_that_differ_in_the_tenth_digit_only_are_told_apart() -> None:
    """To eliminate the coordinates would square their condition, which is 4e10."""
    case = random_case(3063)
    assert np.linalg.svd(case.rows, compute_uv=False)[1] < 1e-9
    check(case)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100, 4100, 100))
def test_no_step_is_better_in_many_cases(start: int) -> None:
    for seed in range(start, start + 100):
        check(random_case(seed))
        check(random_case(seed, dim=1 + seed % 7, terms=seed % 13))


def sqp(case: Case) -> np.ndarray:
    """The same problem solved by SLSQP with exact derivatives, with a variable for each row's miss."""
    d, n = len(case.goal), len(case.offset)
    weights = np.broadcast_to(case.weight, n)
    rows = np.vstack([case.rows, -case.rows[case.two_sided]])
    offset = np.concatenate([case.offset, -case.offset[case.two_sided]])
    miss = np.vstack([np.eye(n), np.eye(n)[case.two_sided]])
    constraints = [
        {
            "type": "ineq",
            "fun": lambda v: 1.0 - v[:d] @ v[:d],
            "jac": lambda v: np.concatenate([-2.0 * v[:d], np.zeros(n)]),
        },
        {
            "type": "ineq",
            "fun": lambda v: miss @ v[d:] - offset - rows @ v[:d],
            "jac": lambda _: np.hstack([-rows, miss]),
        },
    ]
    found = minimize(
        lambda v: case.goal @ v[:d] + 0.5 * v[:d] @ case.bent(v[:d]) + weights @ v[d:],
        np.concatenate([np.zeros(d), case.missed(np.zeros(d))]),
        jac=lambda v: np.concatenate([case.goal + case.bent(v[:d]), weights]),
        bounds=[*zip(case.low, case.high, strict=True), *[(0.0, None)] * n],
        constraints=constraints,
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-13},
    )
    return found.x[:d]


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("curved", [False, True])
def test_agrees_with_an_sqp_solver(seed: int, curved: bool) -> None:
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(2, 7)), int(rng.integers(1, 5))
    rows, goal = rng.standard_normal((n, d)), rng.standard_normal(d)
    case = Case(
        goal / np.linalg.norm(goal),
        rows / np.linalg.norm(rows, axis=1)[:, None],
        rng.uniform(-0.6, 0.6, n),
        rng.random(n) < 0.4,
        -rng.uniform(0.0, 1.0, d),
        rng.uniform(0.0, 1.0, d),
        30.0,
        random_curvature(rng, d) if curved else None,
    )
    solution, expected = check(case), sqp(case)
    assert abs(case.merit(solution.step) - case.merit(expected)) < CLOSE
    assert abs(solution.violation - case.missed(expected).sum()) < CLOSE


def test_a_row_that_binds() -> None:
    goal = np.sqrt([0.5, 0.5])
    solution = check(plain(goal, ([-1.0, 0.0], -0.5)))  # s_0 >= -1/2
    nu = goal[1] / np.sqrt(0.75)
    np.testing.assert_allclose(solution.step, [-0.5, -np.sqrt(0.75)], atol=1e-7)
    np.testing.assert_allclose(solution.multipliers, [goal[0] - 0.5 * nu], atol=1e-7)
    assert solution.violation < 1e-9


def test_a_row_that_costs_less_than_it_hinders_is_missed() -> None:
    goal = np.sqrt([0.5, 0.5])
    solution = check(plain(goal, ([-1.0, 0.0], -0.5), weight=0.1))
    direction = goal + 0.1 * np.array([-1.0, 0.0])
    np.testing.assert_allclose(solution.step, -direction / np.linalg.norm(direction), atol=1e-7)
    np.testing.assert_allclose(solution.multipliers, [0.1], atol=1e-7)


@pytest.mark.parametrize("offset", [1.5, 3.0, 1e6, -1e6])
@pytest.mark.parametrize("two_sided", [False, True])
def test_a_row_out_of_reach_pulls_with_all_its_weight(offset: float, two_sided: bool) -> None:
    case = plain([0.0, 1.0, 0.0], ([1.0, 0.0, 0.0], offset))
    case = equalities(case) if two_sided else case
    pull = 100.0 if offset > 0.0 else -100.0 * two_sided
    solution = check(case)
    direction = np.array([pull, 1.0, 0.0])
    np.testing.assert_allclose(solution.step, -direction / np.linalg.norm(direction), atol=1e-7)
    np.testing.assert_allclose(solution.multipliers, [pull], atol=1e-5)


def test_contradicting_equalities_end_between_them() -> None:
    solution = check(equalities(plain([0.0, 1.0], ([1.0, 0.0], 0.3), ([1.0, 0.0], -0.2))))
    assert abs(solution.violation - 0.5) < 1e-8
    assert -0.3 <= solution.step[0] <= 0.2


def test_a_repeated_row_is_one_row() -> None:
    once = check(plain([0.6, 0.8], ([-1.0, 0.0], -0.3)))
    often = check(plain([0.6, 0.8], *[([-1.0, 0.0], -0.3)] * 70))
    np.testing.assert_allclose(often.step, once.step, atol=1e-7)
    assert often.multipliers.sum() == pytest.approx(once.multipliers.sum(), abs=1e-7)


@pytest.mark.parametrize("factor", [1e-6, 1e-3, 1e3, 1e6])
def test_units_of_a_row_do_not_matter(factor: float) -> None:
    case = random_case(3, dim=20, terms=10)
    weights = np.broadcast_to(case.weight, 10)
    factors = np.where(np.arange(10) % 2 == 0, factor, 1.0)
    solution = check(case)
    other = check(
        replace(
            case,
            rows=factors[:, None] * case.rows,
            offset=factors * case.offset,
            weight=weights / factors,
        )
    )
    np.testing.assert_allclose(other.step, solution.step, atol=1e-6)


@pytest.mark.parametrize("terms", [0, 3])
def test_without_a_row_in_the_way_the_step_is_steepest_descent(terms: int) -> None:
    case = plain([0.6, 0.0, -0.8], *[([0.0, 1.0, 0.0], -0.5)] * terms)
    np.testing.assert_allclose(check(case).step, [-0.6, 0.0, 0.8], atol=1e-7)


def test_in_a_corner_of_the_box_only_the_free_directions_are_left() -> None:
    low, high = np.array([0.0, 0.0, -1.0]), np.array([0.0, 1.0, 0.0])
    solution = check(replace(plain([0.6, 0.0, 0.8]), low=low, high=high))
    np.testing.assert_allclose(solution.step, [0.0, 0.0, -1.0], atol=1e-6)  # the goal leaves one open
    away = check(replace(plain([0.6, 0.0, -0.8]), low=low, high=high))
    np.testing.assert_array_equal(away.step, np.zeros(3))


@pytest.mark.parametrize("width", [0.0, 1e-13])
def test_without_room_the_step_is_zero(width: float) -> None:
    case = equalities(plain([0.6, 0.8], ([1.0, 0.0], 0.3), ([0.0, 1.0], -0.3)))
    solution = check(replace(case, low=np.zeros(2), high=np.full(2, width)))
    np.testing.assert_array_equal(solution.step, np.zeros(2))
    np.testing.assert_array_equal(solution.multipliers, [100.0, -100.0])


def test_without_a_goal_it_moves_only_to_meet_a_row() -> None:
    still = check(plain([0.0, 0.0, 0.0], ([0.0, 1.0, 0.0], -0.2)))
    np.testing.assert_array_equal(still.step, np.zeros(3))
    case = plain([0.0, 0.0, 0.0], ([0.0, 1.0, 0.0], 0.2))
    moving = check(replace(case, low=np.array([-0.1, -1.0, -9.0])))
    np.testing.assert_allclose(moving.step, [0.0, -0.2, 0.0], atol=1e-3)


def test_rows_without_slope_change_nothing() -> None:
    case = plain([0.6, 0.8], ([0.0, 0.0], 1.0), ([0.0, 0.0], 0.0), ([0.0, 0.0], -1.0))
    solution = check(case)
    np.testing.assert_allclose(solution.step, [-0.6, -0.8], atol=1e-7)
    assert solution.violation == 1.0


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("seed", range(5))
def test_a_curvature_alone_gives_the_trust_region_step(seed: int, scale: float) -> None:
    """The oracle is the secular equation: ``|(H + nu)^-1 g| = 1``, or the minimum where that is inside."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((9, 9))
    case = plain(rng.standard_normal(9))
    case = replace(case, goal=case.goal / np.linalg.norm(case.goal), curvature=scale * root @ root.T)
    values, vectors = np.linalg.eigh(case.curvature)
    along = vectors.T @ case.goal
    least, most = 0.0, 1.0
    for _ in range(200):
        nu = 0.5 * (least + most)
        least, most = (nu, most) if np.linalg.norm(along / (values + nu)) > 1.0 else (least, nu)
    np.testing.assert_allclose(check(case).step, -vectors @ (along / (values + most)), atol=2e-6)


@pytest.mark.parametrize("seed", range(10))
def test_a_diagonal_curvature_is_that_of_its_matrix(seed: int) -> None:
    case = random_case(seed)
    diagonal = 10.0 ** np.random.default_rng(seed).uniform(-3.0, 3.0, len(case.goal))
    solution, whole = replace(case, curvature=diagonal).solve(), replace(case, curvature=np.diag(diagonal))
    assert whole.merit(solution.step) - whole.bound(solution) <= CLOSE


@pytest.mark.parametrize("curved", [False, True])
def test_a_thousand_dimensions(curved: bool) -> None:
    case = random_case(1, dim=300 if curved else 1000, terms=20)
    rng = np.random.default_rng(0)
    check(replace(case, curvature=random_curvature(rng, 300) if curved else None))


def test_a_breakdown_returns_a_step_that_is_not_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    case = random_case(0)

    def broken(_: object, top: np.ndarray, bottom: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.full_like(top, np.nan), np.full_like(bottom, np.nan)

    monkeypatch.setattr(elastic._System, "solve", broken)
    check(case, close=np.inf)


@pytest.mark.parametrize("seed", range(5))
def test_the_arguments_are_left_as_they_were(seed: int) -> None:
    case = random_case(seed)
    copies = {name: np.copy(value) for name, value in vars(case).items() if value is not None}
    case.solve()
    for name, copy in copies.items():
        np.testing.assert_array_equal(getattr(case, name), copy)
