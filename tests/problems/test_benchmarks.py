"""What holds for every benchmark: known answers, checked input, finite values, one evaluation as a batch."""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import lcbo
from lcbo.problems import BestKnown, make, names

VARIANTS = {
    "truss25": [
        {"load": "node1"},
        {"alpha": 10.0},
        {"load": "node1", "alpha": 10.0},
        {"aggregate": "none"},
        {"load": "node1", "aggregate": "none"},
        {"load": "node1", "scale": "authors"},
    ],
    "beam50": [{"alpha": 10.0}, {"aggregate": "none"}, {"scale": "authors"}],
    "gp_sample": [
        *({"d": d, "seed": seed} for d in (25, 50, 100) for seed in (1, 2, 3, 9)),
        *({"d": d, "seed": 0, "scale": "authors"} for d in (25, 50, 100)),
        *({"d": d, "seed": 7, "kind": "equality"} for d in (2, 4, 8)),
    ],
    "eq_sphere": [{"d": 10}, {"d": 60}],
    "eq_qp": [{"d": 10}, {"d": 60}, {"d": 500}],
    "keane": [{"d": 30}, {"d": 50}],
}
LIGHT = [name for name in names() if name != "halfcheetah"]
ALL = [(name, variant) for name in LIGHT for variant in [{}, *VARIANTS.get(name, [])]]


@pytest.mark.parametrize(("name", "variant"), ALL)
def test_best_known_is_feasible_and_its_value_matches(name, variant):
    problem = make(name, **variant)
    best = problem.best_known
    assert isinstance(best, BestKnown)
    outcomes = problem.evaluate(best.x)
    assert problem.violation(best.x) == 0.0
    assert problem.feasible(outcomes)
    assert outcomes[problem.objective.name] == pytest.approx(best.value, rel=1e-9, abs=1e-12)
    assert best.how
    assert best.reference


@pytest.mark.parametrize("name", LIGHT)
def test_best_known_is_not_beaten_by_its_feasible_neighbors(name):
    problem = make(name)
    best = problem.best_known
    span = problem.ub - problem.lb
    steps = np.random.default_rng(0).standard_normal((500, problem.dim)) * span
    for size in (1e-6, 1e-4, 1e-2):
        X = np.clip(best.x + size * steps, problem.lb, problem.ub)
        outcomes = problem.evaluate_batch(X)
        feasible = np.ones(len(X), dtype=bool)
        for c in problem.constraints:
            low, high = c.interval
            feasible &= (outcomes[c.name] >= low) & (outcomes[c.name] <= high)
        if feasible.any() and not any(c.eq is not None for c in problem.constraints):
            allowed = 1e-6 * max(1.0, abs(best.value))
            assert outcomes[problem.objective.name][feasible].min() >= best.value - allowed


@pytest.mark.parametrize(("name", "variant"), ALL)
def test_structure(name, variant):
    problem = make(name, **variant)
    assert isinstance(problem, lcbo.Problem)
    assert problem.bounds.shape == (problem.dim, 2)
    assert problem.outcomes[0] == problem.objective.name
    assert problem.deterministic
    assert set(problem.noise_sd()) == set(problem.outcomes)
    assert all(sd > 0.0 for sd in problem.noise_sd().values())
    assert type(problem).__doc__


@pytest.mark.parametrize("name", LIGHT)
def test_finite_everywhere_in_the_box(name):
    problem = make(name)
    rng = np.random.default_rng(0)
    span = problem.ub - problem.lb
    corners = problem.lb + span * rng.integers(0, 2, (200, problem.dim))
    mixed = np.where(
        rng.random((200, problem.dim)) < 0.5, corners, problem.lb + span * rng.random(problem.dim)
    )
    inside = problem.lb + span * rng.random((200, problem.dim))
    diagonal = problem.lb + span * np.linspace(0.0, 1.0, 11)[:, None]
    for values in problem.evaluate_batch(np.vstack([corners, mixed, inside, diagonal])).values():
        assert np.isfinite(values).all()


def test_poles_are_kept_finite():
    assert np.isfinite(list(make("tension_spring").evaluate([0.3, 0.3, 5.0]).values())).all()
    assert np.isfinite(list(make("keane", d=400).evaluate(np.zeros(400)).values())).all()
    assert np.isfinite(list(make("keane", d=400).evaluate(np.full(400, 10.0)).values())).all()


@pytest.mark.parametrize("name", LIGHT)
def test_single_point_equals_batch(name):
    problem = make(name)
    X = problem.lb + (problem.ub - problem.lb) * np.random.default_rng(4).random((3, problem.dim))
    batch = problem.evaluate_batch(X)
    for i, x in enumerate(X):
        single = problem.evaluate(x)
        assert list(single) == list(batch)
        for key, value in single.items():
            assert isinstance(value, float)
            assert value == pytest.approx(batch[key][i], rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("name", LIGHT)
def test_bad_points_are_refused(name):
    problem = make(name)
    good = (problem.lb + problem.ub) / 2
    with pytest.raises(lcbo.ArgumentError, match=rf"x: expected {problem.dim} numbers; got .*shape"):
        problem.evaluate(good[:-1])
    with pytest.raises(lcbo.ArgumentError, match="x: expected finite numbers; got nan at index 1"):
        problem.evaluate(np.where(np.arange(problem.dim) == 1, np.nan, good))
    with pytest.raises(lcbo.ArgumentError, match=r"x: expected values within the bounds, .* at index 0"):
        problem.evaluate(np.where(np.arange(problem.dim) == 0, problem.ub + 1.0, good))
    with pytest.raises(lcbo.ArgumentError, match="x: expected an array of real numbers"):
        problem.evaluate(["a"] * problem.dim)
    with pytest.raises(lcbo.ArgumentError, match=rf"X: expected an n x {problem.dim} array; got shape"):
        problem.evaluate_batch(good)


def test_rounding_at_the_bounds_is_forgiven():
    problem = make("truss25")
    assert problem.evaluate(np.full(25, np.nextafter(5.0, 6.0))) == problem.evaluate(np.full(25, 5.0))


@pytest.mark.parametrize(
    ("name", "variant", "message"),
    [
        ("truss", {}, "name: expected one of truss25, beam50"),
        (25, {}, "name: expected one of"),
        ("truss25", {"load": "case2"}, "load: expected 'case1' or 'node1'; got 'case2'"),
        ("truss25", {"aggregate": "max"}, "aggregate: expected 'lse' or 'none'"),
        ("truss25", {"scale": "si"}, "scale: expected 'natural' or 'authors'"),
        ("truss25", {"alpha": -1.0}, "alpha: expected a number above 0; got -1.0"),
        ("truss25", {"alpha": "20"}, "alpha: expected a finite number; got '20'"),
        ("beam50", {"segments": 5}, "expected only the arguments aggregate, alpha, scale; got segments=5"),
        ("g01", {"d": 5}, "expected no arguments; got d=5"),
        ("eq_sphere", {"d": 1}, "d: expected an integer of at least 2; got 1"),
        ("eq_qp", {"d": 10.5}, "d: expected an integer of at least 3; got 10.5"),
        ("keane", {"d": True}, "d: expected an integer of at least 2; got True"),
        ("gp_sample", {"seed": -1}, "seed: expected an integer of at least 0; got -1"),
        ("gp_sample", {"scale": "paper"}, "scale: expected 'gibo' or 'authors'"),
        ("gp_sample", {"kind": "mixed"}, "kind: expected 'inequality' or 'equality'"),
        ("hs6", {"tol": 0.0}, "tol: expected a number above 0; got 0.0"),
    ],
)
def test_bad_variants_are_refused(name, variant, message):
    with pytest.raises(lcbo.ArgumentError, match=message):
        make(name, **variant)


def test_unknown_variants_have_no_best_known_point():
    assert make("truss25", alpha=17.0).best_known is None
    assert make("gp_sample", d=7).best_known is None
    assert make("keane", d=3).best_known is None


def test_names_are_not_case_sensitive():
    assert make("HS71").dim == 4


def test_names_cover_the_issue():
    listed = set(names())
    assert {
        "truss25",
        "beam50",
        "halfcheetah",
        "gp_sample",
        "keane",
        "ackley10",
        "eq_sphere",
        "eq_qp",
    } <= listed
    assert {"g01", "g03", "g07", "g10", "g13", "g14", "g18"} <= listed
    assert {"hs6", "hs7", "hs28", "hs39", "hs40", "hs48", "hs71", "hs79"} <= listed
    assert {"welded_beam", "pressure_vessel", "tension_spring", "speed_reducer"} <= listed


def test_import_is_light():
    code = "import sys, lcbo.problems as p; p.make('truss25'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"torch", "botorch", "scipy", "matplotlib", "pandas", "gymnasium", "mujoco"}
    assert not heavy & set(loaded.stdout.split())


def test_missing_extra_is_named(monkeypatch):
    import lcbo.problems.halfcheetah as cheetah

    monkeypatch.setattr(cheetah, "find_spec", lambda name: None if name == "mujoco" else find_spec(name))
    with pytest.raises(ImportError, match=r"pip install 'lcbo\[mujoco\]'"):
        make("halfcheetah")
