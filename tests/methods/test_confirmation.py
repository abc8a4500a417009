from pathlib import Path

import numpy as np
import pytest

import lcbo
from lcbo import Optimizer, Problem
from lcbo.methods.confirmation import Confirmed
from lcbo.methods.shortlist import ladder

SD = 0.02


def truth(x):
    return {"f": float(np.sum((x - 0.7) ** 2)), "c": float(np.mean(x))}


def problem(noise: float | None = None) -> Problem:
    return Problem([(0, 1)] * 4, ["c <= 0.5"], "f", noise=noise)


def observed(id: int, x, sd: float = SD):
    noise = np.random.default_rng([7, id]).standard_normal(2)
    return {name: value + sd * z for (name, value), z in zip(truth(x).items(), noise, strict=True)}


def run_on(
    optimizer: Optimizer, sd: float = SD, stop: int | None = None
) -> list[tuple[int, str, list[float]]]:
    """Evaluate until the budget, or ``stop`` evaluations, are spent; return what was asked for."""
    asked = []
    while (stop is None or optimizer.n_asked < stop) and (batch := optimizer.pending or optimizer.ask()):
        for candidate in batch:
            asked.append((candidate.id, candidate.role, candidate.x.tolist()))
            optimizer.tell(candidate.id, observed(candidate.id, candidate.x, sd))
    return asked


@pytest.mark.parametrize("noise", [None, SD])
def test_noisy_run_ends_with_repeats_of_a_shortlist(noise):
    optimizer = Optimizer(problem(noise), budget=80, confirm=0.1)
    asked = run_on(optimizer)
    roles = [role for _, role, _ in asked]
    assert roles[72:] == ["confirm"] * 8
    assert "confirm" not in roles[:72]
    result = optimizer.result()
    assert result.rule == "confirmed"
    assert any(role == "confirm" and np.allclose(x, result.x) for _, role, x in asked)
    assert (result.history.role == "confirm").sum() == 8
    if result.success:
        assert result.pof >= 0.9


def test_default_confirms_and_other_methods_do_not():
    roles = {
        method: {role for _, role, _ in run_on(Optimizer(problem(SD), method, budget=40))}
        for method in ("lcbo", "lcbo-paper", "sobol")
    }
    assert "confirm" in roles["lcbo"]
    assert "confirm" not in roles["lcbo-paper"] | roles["sobol"]


def test_run_without_noise_does_not_confirm_and_answers_with_what_it_saw():
    optimizer = Optimizer(problem(), budget=60, confirm=0.1)
    asked = run_on(optimizer, sd=0.0)
    assert all(role != "confirm" for _, role, _ in asked)
    result = optimizer.result()
    assert result.rule == "observed"
    assert "no noise" in result.message
    np.testing.assert_array_equal(result.x, result.x_observed)
    assert result.success
    feasible = [observed(id, np.array(x), 0.0)["f"] for id, _, x in asked if np.mean(x) <= 0.5]
    assert result.fun == min(feasible)


@pytest.mark.parametrize("method", ["lcbo", "sobol"])
def test_resuming_amid_the_confirmation_continues_bit_for_bit(method, quick_folder: Path):
    made = {"budget": 60, "confirm": 0.2, "method": method}
    expected = run_on(Optimizer(problem(SD), **made))
    path = quick_folder / "run.db"
    with Optimizer(problem(SD), store=path, **made) as optimizer:
        asked = run_on(optimizer, stop=54)
    assert asked[-1][1] == "confirm"
    with Optimizer.open(path) as optimizer:
        asked += run_on(optimizer)
        again = optimizer.result()
    assert asked == expected
    assert again.rule == "confirmed"


def test_several_at_once_are_all_of_the_shortlist():
    optimizer = Optimizer(problem(SD), budget=60, confirm=0.2)
    run_on(optimizer, stop=48)
    batch = optimizer.ask(5)
    assert [candidate.role for candidate in batch] == ["confirm"] * 5
    assert optimizer.ask() == []  # an iteration lacks nothing while they are out


def test_larger_budget_goes_on_with_the_method_and_confirms_anew(quick_folder: Path):
    path = quick_folder / "run.db"
    with Optimizer(problem(SD), budget=60, confirm=0.1, store=path) as optimizer:
        run_on(optimizer)
    with Optimizer.open(path, budget=100) as optimizer:
        roles = [role for _, role, _ in run_on(optimizer)]
        assert optimizer.result().rule == "confirmed"
    assert "confirm" not in roles[:30]
    assert roles.count("confirm") == 4  # a tenth of the budget in all


def test_failing_candidate_is_no_answer():
    optimizer = Optimizer(problem(SD), budget=60, confirm=0.2)
    run_on(optimizer, stop=48)
    (first,) = optimizer.ask()
    optimizer.tell(first.id, failed="diverged")
    run_on(optimizer)
    assert not np.array_equal(optimizer.result().x, first.x)


def test_ladder_leads_inside():
    optimizer = Optimizer(problem(SD), budget=80, confirm=0.1)
    run_on(optimizer, stop=73)
    method = optimizer._method
    assert isinstance(method, Confirmed)
    center = method.recommend()
    belief = method.belief(center)
    means = [point.mean() for point in ladder(belief, method.setup.terms, np.full(2, SD), 8)[1:]]
    assert np.all(np.diff(means) < 0.0)


def test_confirmation_is_an_argument_of_minimize():
    result = lcbo.minimize(
        lambda x: observed(int(1e6 * x[0]), x),
        [(0, 1)] * 3,
        "c <= 0.5",
        "f",
        budget=40,
        noise=SD,
        confirm=0.1,
        confidence=0.8,
        progress=False,
    )
    assert result.confidence == 0.8
    assert (result.history.role == "confirm").sum() == 4


@pytest.mark.parametrize(
    ("argument", "value"),
    [("confidence", 1.0), ("confidence", 0), ("confirm", -0.1), ("confirm", 0.9), ("feasibility_tol", -1.0)],
)
def test_bad_arguments_are_refused(argument, value):
    with pytest.raises(lcbo.ArgumentError, match=argument):
        Optimizer(problem(), **{argument: value})
