"""Runs of ``lcbo-theory`` on draws of its own model, measured with true gradients as the theorem does.

    lambda_{k+1} = rho_k c(x_{k+1}),   g = grad f(x_{k+1}) + grad c(x_{k+1})^T lambda_{k+1}
    r_s = dist^2(g, -N(x_{k+1})),   r_f = |c(x_{k+1})|^2,   averaged over k = 1 .. K          (paper, theorem)

Beside every run stands the same recursion from the same x_1 with exact gradients: what is left of the
residuals when nothing has to be estimated. It costs no evaluations, so it can go on to large K.

L_m is a worst case over the whole cube, and steps of 1 / (2 L_m) hardly move in 20 iterations. So the runs
are made a second time with steps ten times as long, outside the theorem, to see its schedules at work.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lcbo.optimizer.optimizer import Optimizer
from lcbo.optimizer.plan.describe import versions
from lcbo.problems.gp_sample import GPSample
from lcbo.steps.schedules import Power
from lcbo.types import Array
from reproduction.harness.cell import machine
from reproduction.theory.smoothness import smoothness

RHO = Power(1.0, 0.25)  # penalty of the theorem
MARKS = 80  # points at which the long control run is kept


@dataclass(frozen=True)
class Study:
    """Which runs to make.

    Attributes:
        seeds: how many for each dimension.
        iterations: K.
        exact_iterations: K with exact gradients.
        boosts: factors on the theorem's step.
    """

    seeds: Mapping[int, int]
    iterations: int = 20
    exact_iterations: int = 10_000
    boosts: tuple[int, ...] = (1, 10)


FULL = Study({2: 10, 4: 10, 8: 10})
QUICK = Study({2: 2, 4: 1}, iterations=6, exact_iterations=200)


def residuals(x: Array, value: Array, gradient: Array, rho: float) -> tuple[float, float]:
    """Return ``r_s`` and ``r_f`` at one point of the cube, with ``lambda = rho c(x)``.

    The negative normal cone of the cube is ``{v_i >= 0}`` where ``x_i = 0``, ``{v_i <= 0}`` where
    ``x_i = 1`` and ``{v_i = 0}`` elsewhere.

    Args:
        x: ``d``-dim point.
        value: ``1 + m`` true values, row 0 the objective.
        gradient: ``(1 + m) x d`` true gradients.
        rho: the penalty of the step that led to ``x``.
    """
    c = value[1:]
    g = gradient[0] + rho * c @ gradient[1:]
    g = np.where(x <= 0.0, np.minimum(g, 0.0), np.where(x >= 1.0, np.maximum(g, 0.0), g))
    return float(g @ g), float(c @ c)


def averaged(values: Iterable[float]) -> Array:
    """``(1/K) sum_{k <= K}`` for every K."""
    array = np.array(list(values), dtype=np.float64)
    means: Array = array.cumsum() / np.arange(1, len(array) + 1)
    return means


def follow(problem: GPSample, bend: float, iterations: int) -> tuple[Array, list[int]]:
    """Run ``lcbo-theory`` with noisy observations for K iterations.

    Args:
        problem: the draw; its seed is also that of the run and of the noise.
        bend: ``L_m``.
        iterations: K.

    Returns:
        The iterates ``x_1 .. x_{K+1}`` and the evaluations made before each was known.
    """
    truth = problem.hyperparameters
    options = {
        "rho": RHO,
        "eta": Power(1.0 / (2.0 * bend), -0.5),
        "hyperparameters": {
            "lengthscale": truth.lengthscale.tolist(),
            "outputscale": truth.outputscale.tolist(),
            "mean": truth.mean.tolist(),
            "noise_var": truth.noise_var,
        },
    }
    noisy = problem.noisy(rng=problem.seed)
    optimizer = Optimizer(noisy, "lcbo-theory", rng=problem.seed, options=options)
    path, counts = [], []
    while True:
        batch = optimizer.ask()
        if batch[0].role == "iterate":
            path.append(batch[0].x)
            counts.append(optimizer.n_ended)
        if len(path) > iterations:
            return np.array(path), counts
        exact = problem.outcomes_at(np.array([candidate.x for candidate in batch]))
        for i, candidate in enumerate(batch):
            values = {name: float(column[i]) for name, column in exact.items()}
            optimizer.tell(candidate.id, noisy.observed(values))


def descend(problem: GPSample, x: Array, bend: float, iterations: int) -> Array:
    """The same recursion with exact gradients from ``x_1``: the residuals ``K x 2`` of ``x_2 .. x_{K+1}``.

    ``x_{k+1} = P(x_k - eta_k grad Q_{rho_k}(x_k))``
    """
    sample = problem.sample
    found = np.empty((iterations, 2))
    value, gradient = sample.values(x[None])[0], sample.gradients(x)
    for k in range(1, iterations + 1):
        rho = RHO(k)
        slope = gradient[0] + rho * value[1:] @ gradient[1:]
        x = np.clip(x - k**-0.5 / (2.0 * bend) * slope, 0.0, 1.0)
        value, gradient = sample.values(x[None])[0], sample.gradients(x)
        found[k - 1] = residuals(x, value, gradient, rho)
    return found


def marks(iterations: int) -> NDArray[np.int64]:
    """Return the values of K at which a long run is kept, evenly spaced in their logarithms."""
    return np.unique(np.geomspace(1, iterations, min(MARKS, iterations)).round().astype(np.int64))


def within_model(dim: int, seed: int, study: Study) -> dict[str, Any]:
    """Make the runs on one draw and return what is kept of them."""
    start = time.process_time()
    problem = GPSample(dim, seed, kind="equality")
    constants = smoothness(problem)
    series = {str(boost): _series(problem, constants.total / boost, study) for boost in study.boosts}
    return {
        "d": dim,
        "seed": seed,
        "smoothness": {name: float(f"{value:.4g}") for name, value in asdict(constants).items()},
        "L_m": round(constants.total, 1),
        "series": series,
        "seconds": round(time.process_time() - start, 1),
        "versions": versions(),
        "machine": machine(),
    }


def _series(problem: GPSample, bend: float, study: Study) -> dict[str, Any]:
    """One run with its control; residuals of the run one by one, those of the control averaged."""
    path, counts = follow(problem, bend, study.iterations)
    measured = np.array(
        [
            residuals(x, problem.sample.values(x[None])[0], problem.sample.gradients(x), RHO(k))
            for k, x in enumerate(path[1:], start=1)
        ]
    )
    exact = descend(problem, path[0], bend, study.exact_iterations)
    kept = marks(study.exact_iterations)
    return {
        "evaluations": counts[1:],
        "moved": float(f"{np.linalg.norm(np.diff(path, axis=0), axis=1).sum():.4g}"),
        "gamma": float(f"{steepness(problem, path):.4g}"),
        "r_s": _short(measured[:, 0]),
        "r_f": _short(measured[:, 1]),
        "exact_K": kept.tolist(),
        "exact_r_s": _short(averaged(exact[:, 0])[kept - 1]),
        "exact_r_f": _short(averaged(exact[:, 1])[kept - 1]),
    }


def _short(values: Array) -> list[float]:
    return [float(f"{value:.4g}") for value in values]


def steepness(problem: GPSample, path: Array) -> float:
    """The largest ``gamma`` of the regularity condition along a path.

    ``dist(grad c(x)^T c(x), -N(x)) >= gamma |c(x)|``
    """
    ratios = []
    for x in path:
        value, gradient = problem.sample.values(x[None])[0], problem.sample.gradients(x)
        pull = np.concatenate([np.zeros((1, len(x))), gradient[1:]])
        r_s, r_f = residuals(x, value, pull, 1.0)
        ratios.append(np.sqrt(r_s / r_f) if r_f > 0.0 else np.inf)
    return float(min(ratios))


def first_iteration(bend: float, gamma: float) -> float:
    """``K~ = 70 gamma^(-8/3) L_m^(4/3)``, from which on the theorem holds          (paper, appendix)."""
    return float(70.0 * gamma ** (-8.0 / 3.0) * bend ** (4.0 / 3.0))


def run_study(folder: Path, study: Study) -> list[dict[str, Any]]:
    """Make the runs that are not in ``folder`` yet and return all of them, by dimension and seed."""
    folder.mkdir(parents=True, exist_ok=True)
    runs = []
    for dim, seeds in study.seeds.items():
        for seed in range(seeds):
            path = folder / f"within-d{dim}-s{seed}.json"
            if not path.exists():
                run = within_model(dim, seed, study)
                path.write_text(json.dumps(run, separators=(",", ":")) + "\n")
            runs.append(json.loads(path.read_text()))
    return runs
