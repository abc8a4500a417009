import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import lcbo
from lcbo.problems import make

X = np.full(25, 2.0)


def test_noise_has_the_stated_scale():
    problem = make("truss25")
    view = problem.noisy(rng=0)
    draws = [view.evaluate(X) for _ in range(2000)]
    truth = problem.evaluate(X)
    for name, sd in {"weight": 10.0, "g_stress": 0.1, "g_disp": 0.1}.items():
        values = np.array([draw[name] for draw in draws])
        assert values.mean() == pytest.approx(truth[name], abs=0.1 * sd)
        assert values.std() == pytest.approx(sd, rel=0.1)


def test_only_outcomes_in_use_are_shown():
    view = make("truss25").noisy()
    assert set(view.evaluate(X)) == {"weight", "g_stress", "g_disp"}


def test_streams_are_seeded_and_separate():
    problem = make("truss25")
    first, again, other = problem.noisy(rng=1), problem.noisy(rng=1), problem.noisy(rng=2)
    sequence = [first.evaluate(X) for _ in range(3)]
    assert [again.evaluate(X) for _ in range(3)] == sequence
    assert sequence[0] != sequence[1]
    assert other.evaluate(X) != sequence[0]


def test_the_stream_can_be_resumed():
    problem = make("truss25")
    whole = problem.noisy(rng=5)
    values = [whole.evaluate(X) for _ in range(4)]
    rest = problem.noisy(rng=5)
    rest.count = 2
    assert [rest.evaluate(X) for _ in range(2)] == values[2:]


def test_truth_stays_reachable():
    problem = make("beam50")
    view = problem.noisy()
    assert view.truth is problem
    assert view.truth.evaluate(np.full(50, 2.0)) == problem.evaluate(np.full(50, 2.0))
    assert not view.deterministic
    assert view.constraints == problem.constraints
    assert view.objective == problem.objective


@pytest.mark.parametrize(
    ("sd", "expected"),
    [
        (0.5, {"weight": 50.0, "g_stress": 0.5, "g_disp": 0.5}),
        (0.0, {"weight": 0.0, "g_stress": 0.0, "g_disp": 0.0}),
        ({"weight": 3.0}, {"weight": 3.0, "g_stress": 0.0, "g_disp": 0.0}),
    ],
)
def test_noise_can_be_chosen(sd, expected):
    assert make("truss25").noisy(sd=sd).sd == expected


@pytest.mark.parametrize(
    ("sd", "message"),
    [
        ({"mass": 1.0}, r"sd: expected names out of .*; got \['mass'\]"),
        (-0.1, "sd: expected finite non-negative standard deviations"),
        (float("nan"), "sd: expected finite non-negative standard deviations"),
    ],
)
def test_bad_noise_is_refused(sd, message):
    with pytest.raises(lcbo.ArgumentError, match=message):
        make("truss25").noisy(sd=sd)


def test_bad_seed_is_refused():
    with pytest.raises(lcbo.ArgumentError, match="rng: expected an integer of at least 0; got None"):
        make("truss25").noisy(rng=None)


def test_pickled_copies_get_streams_of_their_own():
    view = make("hs71").noisy(rng=0)
    x = np.full(4, 2.0)
    copies = [pickle.loads(pickle.dumps(view)) for _ in range(3)]
    values = [view.evaluate(x)["f"], *(copy.evaluate(x)["f"] for copy in copies)]
    assert len(set(values)) == 4
    again = make("hs71").noisy(rng=0)
    assert pickle.loads(pickle.dumps(again)).evaluate(x)["f"] == values[1]


def test_a_process_pool_does_not_repeat_noise():
    view = make("hs71").noisy(rng=0)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(view.evaluate, np.full(4, 2.0)) for _ in range(4)]
        assert len({job.result()["f"] for job in jobs}) == 4


def test_bad_points_are_refused_by_the_view():
    with pytest.raises(lcbo.ArgumentError, match="x: expected 25 numbers"):
        make("truss25").noisy().evaluate(np.ones(3))
