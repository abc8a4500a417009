"""The LCBO state machine: regimes, stragglers, failures, options and the recommended point."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import norm

from lcbo.acquisition.explore import SequentialExplorer
from lcbo.methods import registry
from lcbo.methods.lcbo import exploration, local_model
from lcbo.methods.lcbo.method import Lcbo
from lcbo.methods.protocol import Proposal, Setup
from lcbo.models.data import merge
from lcbo.models.fits.map import AdamFit
from lcbo.terms import Term, Terms

DIM = 4
TERMS = Terms((Term(row=1, sign=1.0, threshold=0.2),))
QUICK_PAPER = {"explorer_options": {"starts": 2, "steps": 5}}


def truth(u: np.ndarray) -> np.ndarray:
    """A bowl whose minimum violates the one constraint ``y_1 <= 0.2``."""
    return np.array([np.sum((u - 0.7) ** 2), np.mean(u) - 0.35])


def noisy(sd: float) -> Callable[[np.ndarray], np.ndarray]:
    rng = np.random.default_rng(8)
    return lambda u: truth(u) + sd * rng.standard_normal(2)


def make(
    name: str = "lcbo",
    budget: int | None = 200,
    noise_var: tuple[float | None, float | None] = (None, None),
    **options: Any,
) -> Lcbo:
    setup = Setup(DIM, 2, TERMS, noise_var, budget, 6, np.zeros((0, DIM)), 1)
    method = registry.make(name, setup, options)
    assert isinstance(method, Lcbo)
    return method


def tell(method: Lcbo, batch: list[Proposal], fun: Callable[[np.ndarray], np.ndarray] = truth) -> None:
    for proposal in batch:
        method.tell(proposal.id, fun(proposal.u))


def run(
    method: Lcbo, iterations: int, fun: Callable[[np.ndarray], np.ndarray] = truth
) -> list[list[Proposal]]:
    """Design and iterations, each batch told whole."""
    batches = []
    for _ in range(iterations + 1):
        batches.append(method.ask())
        tell(method, batches[-1], fun)
    return batches


def roles(batch: list[Proposal]) -> list[str]:
    return [proposal.role for proposal in batch]


def iterate(method: Lcbo) -> np.ndarray:
    assert method.iterate is not None
    return method.iterate.u


def fitted_kernel(method: Lcbo) -> str:
    assert method.model.now is not None
    return method.model.now.gp.hyper.kernel


def test_a_noise_free_run_explores_with_one_point() -> None:
    method = make()
    batches = run(method, 6)
    assert roles(batches[0]) == ["init"] * 6
    assert roles(batches[1]) == ["iterate"] * 5 + ["explore"]  # four noise probes
    assert roles(batches[2]) == ["iterate", "explore"]
    assert (method.regime.level, method.window.size) == (0.0, 3 * DIM)


def test_a_noisy_run_has_a_longer_window_and_in_few_variables_no_more_probes() -> None:
    method = make(scout=0)
    batches = run(method, 6, noisy(0.1))
    assert roles(batches[1]) == ["iterate"] * 5 + ["explore"]
    assert roles(batches[2]) == ["iterate", "explore"]
    assert (method.regime.level, method.window.size) == (1.0, 12 * DIM)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_where_there_is_noise_a_plane_can_explain_all_scatter(noise: float) -> None:
    """With slopes of its deviation: at uniform points of the frame, and nearly at the model's."""
    method = make(scout=0)
    run(method, 13, noisy(noise) if noise else truth)
    assert method.model.now is not None
    gp = method.model.now.gp
    plane = gp.hyper.plane
    if not noise:
        assert plane == 0.0
        return
    rng = np.random.default_rng(0)
    u = rng.random((4000, DIM)) - 0.5
    slopes = plane * rng.standard_normal((DIM, 4000))
    assert (u @ slopes).var() == pytest.approx(1.0, rel=0.1)
    seen = gp.u.numpy() - gp.u.numpy().mean(0)
    assert (seen @ slopes).var() == pytest.approx(1.0, rel=0.3)


def test_without_a_frame_that_adapts_there_is_no_plane() -> None:
    """What explains the scatter of a window depends on how large it is."""
    method = make(scout=0, adapt_frame=False)
    run(method, 13, noisy(0.1))
    assert method.model.now is not None
    assert method.model.now.gp.hyper.plane == 0.0


@pytest.mark.parametrize(("noise", "most"), [(0.0, 4 * DIM), (0.1, 12 * DIM)])
def test_noise_asks_for_more_evaluations_to_choose_coordinates_on(
    noise: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    plain = local_model.chosen

    def watched(u: np.ndarray, *args: Any, **settings: Any) -> Any:
        seen.append(len(u))
        return plain(u, *args, **settings)

    monkeypatch.setattr(local_model, "chosen", watched)
    run(make(scout=0), 40, noisy(noise) if noise else truth)
    assert max(seen) == most


@pytest.mark.parametrize(("noise_var", "repeats", "level"), [(0.0, 0, 0.0), (0.01, 1, 1.0)])
def test_known_noise_needs_no_probes(noise_var: float, repeats: int, level: float) -> None:
    method = make(noise_var=(noise_var, noise_var))
    batches = run(method, 4, noisy(noise_var**0.5))
    assert roles(batches[1]).count("iterate") == repeats
    assert roles(batches[3]).count("explore") == 1
    assert method.regime.level == level


@pytest.mark.parametrize(("budget", "probes"), [(None, 4), (1000, 4), (75, 3), (20, 0)])
def test_probes_cost_at_most_a_25th_of_the_budget(budget: int | None, probes: int) -> None:
    assert roles(run(make(budget=budget), 1)[1]).count("iterate") == 1 + probes


def test_a_chosen_kernel_and_batch_are_kept() -> None:
    method = make(kernel="matern52", explore=2, scout=0)
    batches = run(method, 4, noisy(0.2))
    assert fitted_kernel(method) == "matern52"
    assert roles(batches[3]) == ["iterate", "explore", "explore"]


@pytest.mark.parametrize("options", [{"adapt_frame": False}, {"fit": "map"}], ids=["frame", "fit"])
def test_without_evidence_the_kernel_is_matern52(options: dict[str, Any]) -> None:
    method = make(**options)
    run(method, 3)
    assert fitted_kernel(method) == "matern52"
    assert method.model.frame.width == 1.0


def test_the_evidence_of_a_smooth_run_chooses_rbf_from_the_next_fit_on() -> None:
    method = make()
    kernels = set()
    for _ in range(12):
        run(method, 1)
        kernels.add(fitted_kernel(method))
    assert "rbf" in kernels, "two quadratics are smoother than Matern-5/2"


def test_schedules_of_batches_follow_the_iteration() -> None:
    batches = run(make(repeats=lambda k: k, explore=lambda k: 1 + k % 2, noise_probes=0), 3)
    assert [(roles(b).count("iterate"), roles(b).count("explore")) for b in batches[1:]] == [
        (1, 2),
        (2, 1),
        (3, 2),
    ]


def test_the_run_starts_at_the_best_point_of_the_design() -> None:
    batches = run(make(), 1)
    values = np.array([truth(p.u) for p in batches[0]])
    feasible = values[:, 1] <= 0.2
    best = np.where(feasible, values[:, 0], np.inf).argmin()
    np.testing.assert_array_equal(batches[1][0].u, batches[0][best].u)


def test_after_a_failed_iterate_a_shorter_step_is_taken_from_the_last_good_one() -> None:
    method = make()
    run(method, 3)
    good = iterate(method)
    batch = method.ask()
    for proposal in batch:
        method.tell(proposal.id, None if proposal.role == "iterate" else truth(proposal.u))
    length = 0.5 * method.step.info(1)["step"]
    (alone,) = method.ask()
    assert alone.role == "iterate", "what may fail is tried before its surroundings are"
    assert 0.0 < np.linalg.norm(alone.u - good) <= length * (1.0 + 1e-9)
    method.tell(alone.id, None)
    (again,) = method.ask()
    assert again.role == "iterate", "nothing is asked for around a point that failed"
    assert 0.0 < np.linalg.norm(again.u - good) <= 0.5 * length * (1.0 + 1e-9)


def test_a_failed_iterate_goes_halfway_back_in_the_paper() -> None:
    method = make("lcbo-paper", **QUICK_PAPER)
    run(method, 3)
    good = iterate(method)
    batch = method.ask()
    away = iterate(method)
    for part in (0.5, 0.25):
        for proposal in batch:
            method.tell(proposal.id, None if proposal.role == "iterate" else truth(proposal.u))
        batch = method.ask()
        np.testing.assert_allclose(iterate(method), good + part * (away - good), atol=1e-14)


def test_the_authors_preset_forgets_what_it_learned_outside_every_fifth_iteration() -> None:
    """Fits in iterations 0, 5 and 10, each from the start; in between the hyperparameters are the start's."""
    method = make("lcbo-authors", explore=2, **QUICK_PAPER)
    tell(method, method.ask())
    learned = {}
    for k in range(12):
        batch = method.ask()
        model = method.model.now
        assert model is not None
        learned[k] = model.gp.hyper
        tell(method, batch)
        method.recommend()  # looking changes nothing
    for k, hyper in learned.items():
        starts = [hyper.lengthscale.flatten().tolist(), hyper.outputscale.tolist()] == [[1.0] * 2, [0.69] * 2]
        assert starts == (k % 5 != 0), k
    paper = make("lcbo-paper", explore=2, **QUICK_PAPER)
    run(paper, 6)
    assert paper.model.now is not None
    assert paper.model.now.gp.hyper.outputscale.tolist() != [0.69] * 2, "the text keeps what was learned"


def test_a_fit_of_the_authors_preset_does_not_know_the_one_before() -> None:
    """It is the fit of its window from the start, as an independent fit of the same data finds it."""
    method = make("lcbo-authors", explore=2, **QUICK_PAPER)
    run(method, 5)
    before = method.model.builder.start
    method.ask()
    assert method.iteration == 6
    now = method.model.now
    assert now is not None
    scaled = now.scaling.apply(method.archive.y[method.model._ids])
    data = merge(method.archive.u[method.model._ids], scaled)
    averaged = replace(
        data, count=torch.ones_like(data.count), scatter=0.0 * data.scatter, dof=0.0 * data.dof
    )
    expected = AdamFit()(averaged, before)
    torch.testing.assert_close(now.gp.hyper.lengthscale, expected.lengthscale)


def test_a_failed_iterate_teaches_nothing_about_landings() -> None:
    """What the step expected was at another point than the one that is stepped from now."""
    method = make()
    run(method, 4)
    batch = method.ask()
    before = method.state()["step"]["landing"]
    assert before["expected"] is not None
    for proposal in batch:
        method.tell(proposal.id, None if proposal.role == "iterate" else truth(proposal.u))
    tell(method, method.ask())
    after = method.state()["step"]["landing"]
    assert after["bend"] == before["bend"], "there was nothing to compare"


def test_lcbo_steps_with_half_the_batch_when_more_work_is_asked_for() -> None:
    method = make(explore=3)
    run(method, 2)
    batch = method.ask()
    tell(method, batch[:1])
    (early,) = method.ask(1)
    assert (early.role, early.iteration) == ("explore", 3)
    tell(method, batch[1:3])
    assert method.ask() == []
    (step,) = method.ask(1)
    assert (step.role, step.iteration) == ("iterate", 4)


def test_lcbo_paper_never_steps_with_stragglers_out() -> None:
    method = make("lcbo-paper", **QUICK_PAPER)
    run(method, 1)
    batch = method.ask()
    tell(method, batch[:-1])
    assert method.ask() == []
    extra = method.ask(2)
    assert [(p.role, p.iteration) for p in extra] == [("explore", 2)] * 2
    tell(method, [batch[-1], *extra])
    assert {p.iteration for p in method.ask()} == {3}


def test_further_points_differ_from_what_is_pending() -> None:
    method = make()
    run(method, 2)
    asked = [*method.ask(), *method.ask(3), *method.ask(2)]
    explored = np.array([p.u for p in asked if p.role == "explore"])
    gaps = np.linalg.norm(explored[:, None] - explored[None], axis=-1) + np.eye(len(explored))
    assert gaps.min() > 1e-3


def test_probes_turned_to_one_point_are_not_evaluated_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every probe has the same nearest feasible point, it is evaluated once, the others as they are."""
    method = make(explore=3)
    run(method, 2)
    monkeypatch.setattr(exploration, "inward", lambda local, _probe, _step: 0.9 * local.u)
    asked = [p.u for p in (*method.ask(), *method.ask(3)) if p.role == "explore"]
    target = method.model.frame.warp.straight(0.9 * method.model.frame.warp.bent(iterate(method)))
    assert [np.allclose(u, target) for u in asked] == [True, *[False] * 5]
    assert len(np.unique(asked, axis=0)) == 6


def test_while_the_design_is_out_further_points_are_uniform() -> None:
    method = make()
    design = method.ask()
    further = method.ask(3)
    assert roles(further) == ["explore"] * 3
    assert all(np.all((p.u >= 0.0) & (p.u <= 1.0)) for p in further)
    tell(method, design)
    assert method.recommend() is None


def test_a_design_that_failed_is_drawn_anew() -> None:
    method = make()
    for proposal in method.ask():
        method.tell(proposal.id, None)
    again = method.ask()
    assert roles(again) == ["init"] * 6
    tell(method, again)
    assert "iterate" in roles(method.ask())


@pytest.mark.parametrize("name", ["lcbo", "lcbo-paper"])
def test_the_authors_settings_are_reachable_by_options(name: str) -> None:
    method = make(
        name,
        explorer="sequential",
        explorer_options={"steps": 5},
        average_repeats=True,
        fit="fixed",
        kernel="rbf",
        repeats=2,
        explore=3,
        step="penalty",
        hyperparameters={"lengthscale": 1.0, "outputscale": 0.69, "noise_var": 0.01},
    )
    run(method, 4, noisy(0.1))
    assert isinstance(method.explore.explorer, SequentialExplorer)
    assert method.model.now is not None
    gp = method.model.now.gp
    assert torch.equal(gp.hyper.lengthscale, torch.ones(2, 1, dtype=torch.float64))
    assert torch.equal(gp.hyper.outputscale, torch.full((2,), 0.69, dtype=torch.float64))
    assert torch.equal(gp.hyper.noise_var, torch.full((2,), 0.01, dtype=torch.float64))
    variance = (gp.factor @ gp.factor.mT).diagonal(dim1=-2, dim2=-1)
    torch.testing.assert_close(
        variance, torch.full_like(variance, 0.70)
    )  # the noise of repeats is not reduced
    assert len(gp.u) < len(method.archive.recent(method.window.size))


def test_hyperparameters_may_differ_between_outputs() -> None:
    method = make(
        fit="fixed",
        standardize=False,
        hyperparameters={"lengthscale": [0.5, 2.0], "noise_var": [0.1, 0.2], "mean": [3.0, -1.0]},
    )
    run(method, 2)
    hyper = method.model.builder.hyper
    assert hyper.lengthscale.flatten().tolist() == [0.5, 2.0]
    assert (hyper.noise_var.tolist(), hyper.mean.tolist()) == ([0.1, 0.2], [3.0, -1.0])


def test_ard_has_a_lengthscale_per_variable() -> None:
    method = make("lcbo-paper", ard=True, **QUICK_PAPER)
    run(method, 1)
    assert method.model.builder.hyper.lengthscale.shape == (2, DIM)


def test_the_window_holds_the_most_recent_points() -> None:
    method = make(window=2.0)
    run(method, 8)
    assert method.window.size == 2 * DIM
    method.ask()
    assert method.model.now is not None
    recent = method.archive.u[method.archive.recent(2 * DIM)]
    np.testing.assert_array_equal(method.model.now.gp.u.numpy(), method.model.frame.local(recent))
    everything = make(window=None)
    run(everything, 3)
    assert everything.window.size is None
    assert make(window=3.0, window_limit=7).window.size == 7


@pytest.mark.parametrize("window", [30, 33, 36, 39])
def test_what_a_factor_is_kept_of_stays_in_the_window_until_the_next_fit(window: int) -> None:
    """Also while the window fills: else all of it would be factored anew in every iteration."""
    method = make(window=window / DIM)
    for _ in range(window):
        tell(method, method.ask())
        if method.model.now is not None:
            state = method.model.state()
            assert set(state["lasting"]) <= set(state["ids"])
    assert len(state["ids"]) == window


def test_without_a_limit_a_factor_is_kept_of_all_that_was_known_at_the_fit() -> None:
    method = make(window=None)
    run(method, 6)
    state = method.model.state()
    assert len(state["lasting"]) > 6
    assert state["lasting"] == state["ids"][: len(state["lasting"])]


@pytest.mark.parametrize("sd", [0.0, 0.05])
def test_recommend_picks_the_best_posterior_point(sd: float) -> None:
    """Against the beliefs at every evaluated point of the window, one by one."""
    method = make()
    run(method, 8, noisy(sd))
    chosen = method.recommend()
    assert chosen is not None
    points = np.unique(method.archive.u[method.archive.recent(method.window.size)], axis=0)
    beliefs = [b for u in points if (b := method.belief(u)) is not None]
    assert len(beliefs) == len(points)
    mean = np.array([b.mean[0] for b in beliefs])
    pof = np.array([norm.cdf(0.2, b.mean[1], max(b.std[1], 1e-12)) for b in beliefs])
    best = np.where(pof >= 0.5, mean, np.inf).argmin() if (pof >= 0.5).any() else pof.argmax()
    np.testing.assert_array_equal(chosen, points[best])


def test_recommend_without_a_likely_point_is_the_least_infeasible_one() -> None:
    """``y_1 = 0.3 + sum(u)`` is never below 0.2; the least sum is the least violation."""
    method = make(noise_var=(0.0, 0.0))
    run(method, 4, lambda u: np.array([truth(u)[0], 0.3 + np.sum(u)]))
    chosen = method.recommend()
    assert chosen is not None
    window = method.archive.u[method.archive.recent(method.window.size)]
    assert np.sum(chosen) == pytest.approx(window.sum(1).min(), abs=0.05)


def test_the_answer_s_model_knows_everything_told() -> None:
    method = make()
    run(method, 3)
    x = np.full(DIM, 0.55)
    before = method.belief(x)
    method.include(x, truth(x))
    after = method.belief(x)
    assert before is not None
    assert after is not None
    assert np.all(after.std < before.std)
    assert np.all(np.abs(after.mean - truth(x)) < np.abs(before.mean - truth(x)) + 1e-4)


def test_info_shows_the_step_and_the_penalty_where_there_is_one() -> None:
    method = make()
    run(method, 2)
    assert (
        {"iteration", "rescues", "step"}
        <= set(method.info())
        <= {"iteration", "rescues", "step", "gradient_uncertainty"}
    )
    paper = make("lcbo-paper", **QUICK_PAPER)
    run(paper, 1)
    assert paper.info()["step"] == 0.25
    assert paper.info()["penalty"] == pytest.approx(10.0)


def test_a_quiet_run_finds_the_constrained_minimum() -> None:
    """The optimum is the projection of the bowl's center onto ``mean(u) = 0.55``, where f = 0.09."""
    method = make(budget=80)
    run(method, 16)
    feasible = method.archive.y[method.archive.y[:, 1] <= 0.2]
    assert feasible[:, 0].min() == pytest.approx(0.09, abs=4e-3)


def test_looking_at_the_answer_does_not_change_a_run() -> None:
    setup = Setup(3, 1, Terms(), (None,), None, 4, np.zeros((0, 3)), 0)
    watched, alone = registry.make("lcbo", setup), registry.make("lcbo", setup)
    for _ in range(40):
        ours, theirs = watched.ask(2), alone.ask(2)
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(a.u, b.u)
        for method, batch in ((watched, ours), (alone, theirs)):
            method.tell(batch[0].id, np.array([np.sum(batch[0].u ** 2)]))
        watched.recommend()


def test_batch_longer_than_the_budget_stays_in_the_queue() -> None:
    setup = Setup(3, 1, Terms(), (None,), 3, 4, np.zeros((0, 3)), 0)
    method = registry.make("lcbo", setup)
    first, rest = method.ask(None, 3), method.ask()
    assert [p.id for p in first] == [0, 1, 2]
    assert [p.id for p in rest] == [3]


def test_gradient_uncertainty_falls_as_the_model_learns() -> None:
    setup = Setup(2, 1, Terms(), (0.0,), None, 3, np.zeros((0, 2)), 0)
    method = registry.make("lcbo", setup)
    assert "gradient_uncertainty" not in method.info()
    shares = []
    while method.archive.size < 40:
        for proposal in method.ask():
            method.tell(proposal.id, np.array([proposal.u @ [3.0, 4.0]]))
        shares.append(method.info().get("gradient_uncertainty", 1.0))
    assert all(0.0 <= share <= 1.0 for share in shares)
    assert shares[-1] < 0.05, "a plane sampled without noise has a known slope"


def test_state_has_a_version_and_one_entry_per_part() -> None:
    method = make()
    run(method, 3)
    state = method.state()
    assert state["version"] == 3
    assert {"iterate", "regime", "model", "step"} <= set(state)
    assert json.loads(json.dumps(state)) == state


def test_state_of_an_unknown_version_is_refused() -> None:
    with pytest.raises(ValueError, match="its state has version 4, this code reads 1 to 3"):
        make().restore({**make().state(), "version": 4}, [])
