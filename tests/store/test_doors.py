"""The three doors of an optimizer: a new run, one that goes on, one that is looked at."""

from dataclasses import replace

import numpy as np
import pytest

import lcbo
from lcbo import ArgumentError, MethodSpec, Optimizer, Problem, StoreError
from lcbo.methods import registry
from lcbo.optimizer.plan import setup
from lcbo.store.store import read

PROBLEM = Problem([(0, 1), (-2, 2)], ["c <= 0.5"], "f")


def simulate(x):
    return {"f": float(x.sum()), "c": float(x[0])}


def finish(optimizer):
    while batch := optimizer.pending or optimizer.ask():
        optimizer.tell(batch[0].id, simulate(batch[0].x))


@pytest.fixture
def path(quick_folder):
    return quick_folder / "run.db"


@pytest.fixture
def own():
    """A method of the user's own that is not registered, and the setups it was built with."""
    setups = []
    sobol = registry.spec("sobol")

    def build(setup, options):
        setups.append(setup)
        return sobol.build(setup, options)

    return MethodSpec("own", "a user's method", build, sobol.options), setups


def begin(path, method="sobol", **arguments):
    return Optimizer(PROBLEM, method, budget=6, rng=5, store=path, **arguments)


def test_constructor_begins_a_run_and_leaves_another_alone(path):
    with begin(path) as optimizer:
        optimizer.ask()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"exists already; Optimizer\.open\(path\) goes on"):
        begin(path)
    assert path.read_bytes() == before


def test_run_goes_on_from_the_file_alone_or_with_the_users_problem(path):
    with begin(path) as optimizer:
        first = optimizer.ask()[0]
        optimizer.tell(first.id, simulate(first.x))
    with Optimizer.open(path) as again:
        assert again.problem.fun is None
        assert again.n_ended == 1
    mine = Problem([(0, 1), (-2, 2)], ["c <= 0.5"], "f", fun=simulate)
    with Optimizer.open(path, mine, method="sobol", rng=5, x0=None, data=None, options=None) as again:
        assert again.problem is mine
        finish(again)
    other = Problem([(0, 1), (-2, 3)], ["c <= 0.5"], "f")
    with pytest.raises(StoreError, match=r"problem.variables.x2: the run has \[-2.0, 2.0\]; now it is"):
        Optimizer.open(path, other)


def test_problem_of_another_size_is_refused_by_name(path):
    begin(path, data=[([0.5, 1.0], {"f": 1.0})], x0=[0.5, 0.5]).close()
    with pytest.raises(StoreError, match="problem.variables.x3: the run has none"):
        Optimizer.open(path, Problem([(0, 1), (-2, 2), (0, 1)], ["c <= 0.5"], "f"))


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ({"method": "lcbo"}, 'method: the run has "sobol"; now it is "lcbo"'),
        ({"rng": 6}, "seed: the run has 5; now it is 6"),
        ({"x0": [0.5, 0.5]}, "x0: the run has null; now it is"),
        ({"n_init": 3}, "n_init: the run has null; now it is 3"),
        ({"data": [([0, 0], {"f": 1.0})]}, r"data: the run has \[\]; now it is"),
    ],
)
def test_argument_that_is_given_is_compared(path, given, changed):
    begin(path).close()
    with pytest.raises(StoreError, match=changed):
        Optimizer.open(path, **given)
    Optimizer.open(path).close()


@pytest.mark.parametrize(
    ("given", "argument"),
    [
        ({"method": 3}, "method"),
        ({"options": [1]}, "options"),
        ({"x0": [9, 9]}, "x0"),
        ({"device": 1}, "device"),
    ],
)
def test_argument_that_is_wrong_is_named(path, given, argument):
    begin(path).close()
    with pytest.raises(ArgumentError, match=f"^{argument}:"):
        Optimizer.open(path, **given)
    with pytest.raises(TypeError, match="unexpected keyword argument 'stroe'"):
        Optimizer.open(path, stroe=1)
    with pytest.raises(ArgumentError, match="^path: expected a path"):
        Optimizer.open(3)
    with pytest.raises(ArgumentError, match="^problem: expected a Problem"):
        Optimizer.open(path, "truss25")
    Optimizer.open(path).close()


def test_inspecting_gives_the_answer_and_changes_nothing(path):
    with begin(path) as optimizer:
        finish(optimizer)
    before = path.read_bytes()
    for looked in (Optimizer.inspect(path), Optimizer.inspect(str(path)), Optimizer.inspect(read(path))):
        assert looked.result().fun == optimizer.result().fun
        with pytest.raises(StoreError, match="opened for reading"):
            looked.ask()
    assert path.read_bytes() == before


def test_facts_of_a_file_do_not_pass_the_checks_of_arguments(path, monkeypatch):
    with begin(path, x0=[0.5, 0.5], n_init=3, data=[([0.1, 0.1], {"f": 1.0})]) as optimizer:
        asked = optimizer.ask()

    def refuse(*_):
        raise AssertionError

    for name in ("read_points", "read_data", "read_outcomes", "integer", "read_seed"):
        monkeypatch.setattr(setup, name, refuse)
    with Optimizer.open(path) as again:
        assert [c.x.tobytes() for c in again.pending] == [c.x.tobytes() for c in asked]


class TestMethodOfOnesOwn:
    def test_is_taken_by_both_front_doors(self, own):
        spec, setups = own
        result = lcbo.minimize(simulate, [(0, 1), (-2, 2)], ["c <= 0.5"], "f", budget=6, method=spec)
        assert (result.method, result.nfev, len(setups)) == ("own", 6, 1)
        assert Optimizer(PROBLEM, spec).method == "own"

    def test_is_needed_again_to_go_on(self, path, own):
        spec, _ = own
        with begin(path, spec) as optimizer:
            optimizer.ask()
        missing = rf"^{path}: no method 'own' is registered; register it.*Optimizer.open\(path, method="
        with pytest.raises(StoreError, match=missing):
            Optimizer.open(path)
        with pytest.raises(StoreError, match=missing):
            lcbo.open_run(path).result()
        assert lcbo.open_run(path).status.asked == optimizer.n_asked
        with pytest.raises(StoreError, match='method: the run has "own"; now it is "theirs"'):
            Optimizer.open(path, method=replace(spec, name="theirs"))
        with Optimizer.open(path, method=spec) as again:
            finish(again)
            assert again.n_ended == 6

    def test_is_found_by_name_once_registered(self, path, own, monkeypatch):
        monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
        begin(path, own[0]).close()
        lcbo.register(own[0])
        Optimizer.open(path).close()


def test_device_reaches_the_method_and_does_not_identify_the_run(path, own):
    spec, setups = own
    begin(path, spec).close()
    Optimizer.open(path, method=spec, device="cuda:0").close()
    lcbo.minimize(simulate, [(0, 1), (-2, 2)], ["c <= 0.5"], "f", budget=2, method=spec, device="cuda")
    assert [setup.device for setup in setups] == ["cpu", "cuda:0", "cuda"]


def test_evaluation_keeps_its_cube_point_from_ask_to_history(path):
    data = [([0.5, 1.0], {"f": 1.0})]
    with begin(path, data=data) as optimizer:
        first, second, *_ = asked = optimizer.ask(3)
        assert {c.status for c in asked} == {"pending"}
        optimizer.tell(first.id, simulate(first.x))
        optimizer.tell(second.id, {"c": 0.25})
    for run in (optimizer, Optimizer.inspect(path), lcbo.open_run(path)):
        known, done = run.log.evaluations
        assert (known.role, known.status, known.u.tolist()) == ("data", "done", [0.5, 0.75])
        assert (done.status, done.outcomes) == ("done", simulate(first.x))
        assert done.u.tobytes() == first.u.tobytes()
        assert [(c.id, c.status, dict(c.outcomes)) for c in run.pending] == [
            (second.id, "pending", {"c": 0.25}),
            (asked[2].id, "pending", {}),
        ]
        np.testing.assert_array_equal(PROBLEM.space.from_unit(done.u), done.x)
