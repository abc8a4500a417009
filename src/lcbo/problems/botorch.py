"""Test problems of BoTorch as benchmarks, and benchmarks as test problems of BoTorch.

BoTorch calls a point feasible when its slacks are >= 0; here an outcome g = -slack is feasible at <= 0.
BoTorch is an extra, ``lcbo[botorch]``, and imported when one of the functions is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lcbo.errors import ArgumentError
from lcbo.problem import Constraint, Objective, Problem
from lcbo.problems.base import Benchmark, BestKnown
from lcbo.types import Array

if TYPE_CHECKING:
    from torch import Tensor


class BotorchProblem(Benchmark):
    """A BoTorch ``ConstrainedBaseTestProblem``: outcomes ``f``, ``g1``, ``g2``, ... with g_i = -slack_i.

    ``f`` is what the test problem's ``forward`` returns without noise, so ``negate=True`` makes it an
    objective to maximize. The default noise is the test problem's own.

    Args:
        test_problem: The test problem; continuous inputs and one objective.
    """

    def __init__(self, test_problem: Any) -> None:
        base = _botorch_base()
        if not isinstance(test_problem, base.ConstrainedBaseTestProblem):
            expected = "a BoTorch ConstrainedBaseTestProblem"
            raise ArgumentError("test_problem", expected, type(test_problem).__name__)
        if isinstance(test_problem, base.MultiObjectiveTestProblem):
            found = f"{test_problem.num_objectives} objectives"
            raise ArgumentError("test_problem", "a single objective", found)
        if test_problem.discrete_inds or test_problem.categorical_inds:
            found = f"discrete inputs {[*test_problem.discrete_inds, *test_problem.categorical_inds]}"
            raise ArgumentError("test_problem", "continuous inputs only", found)
        source: Any = test_problem  # torch types its buffers as Tensor or Module
        self.test_problem = source
        self._names = [f"g{i + 1}" for i in range(source.num_constraints)]
        spread = np.broadcast_to(source.constraint_noise_std or 0.0, len(self._names))
        noise = {"f": float(source.noise_std or 0.0)}
        super().__init__(
            source.bounds.numpy().T.astype(np.float64),
            [Constraint(name, ub=0.0) for name in self._names],
            Objective("f", maximize=not source.is_minimization_problem),
            best_known=None,
            noise_scale=noise | dict(zip(self._names, map(float, spread), strict=True)),
            noise_level=1.0,
        )
        self.best_known = self._published()

    def outcomes_at(self, X: Array) -> dict[str, Array]:
        """Objective and negated slacks of ``n x d`` points."""
        import torch

        points = torch.as_tensor(X, dtype=self.test_problem.bounds.dtype)
        value = self.test_problem(points, noise=False)
        slack = self.test_problem.evaluate_slack_true(points)
        g = -slack.detach().numpy().astype(np.float64)
        outcomes = {"f": value.detach().numpy().astype(np.float64).reshape(-1)}
        return outcomes | dict(zip(self._names, g.T, strict=True))

    def _published(self) -> BestKnown | None:
        """The optimal value BoTorch states, with its point where that is feasible and attains it."""
        try:
            value = float(self.test_problem.optimal_value)
        except (AttributeError, NotImplementedError):
            return None
        reference = f"BoTorch, {type(self.test_problem).__name__}"
        for x in np.atleast_2d(getattr(self.test_problem, "optimizers", np.empty((0, self.n_variables)))):
            inside = np.clip(np.asarray(x, dtype=np.float64), self.lb, self.ub)
            close = abs(self.evaluate(inside)["f"] - value) <= 1e-4 * max(1.0, abs(value))
            if close and self.violation(inside) == 0.0:
                return BestKnown(value, inside, "published", reference)
        return BestKnown(value, None, "published", reference)


def from_botorch(test_problem: Any) -> BotorchProblem:
    """Wrap a BoTorch ``ConstrainedBaseTestProblem``; slacks >= 0 become outcomes <= 0."""
    return BotorchProblem(test_problem)


def to_botorch(problem: Problem) -> Any:
    """Show a problem as a noise-free BoTorch ``ConstrainedBaseTestProblem``, one slack per threshold.

    The slack is ``y - lb``, ``ub - y`` or ``tol - |y - eq|``, feasible at 0 and above.
    """
    base: Any = _botorch_base()
    import torch

    def _flat(X: Tensor) -> Array:
        flat: Array = X.detach().reshape(-1, problem.n_variables).double().numpy()
        return flat

    class View(base.ConstrainedBaseTestProblem):  # type: ignore[misc]  # known when it runs
        def __init__(self) -> None:
            self.dim = problem.n_variables
            self.num_constraints = len(problem.terms)
            self.continuous_inds = list(range(problem.n_variables))
            self._bounds = [(float(low), float(high)) for low, high in problem.bounds]
            self._is_minimization_by_default = not problem.objective.maximize
            super().__init__()

        def _evaluate_true(self, X: Tensor) -> Tensor:
            values = [problem.evaluate(x)[problem.objective.name] for x in _flat(X)]
            return torch.tensor(values, dtype=X.dtype).reshape(X.shape[:-1])

        def _evaluate_slack_true(self, X: Tensor) -> Tensor:
            terms = problem.terms
            y = np.array([problem.to_rows(problem.evaluate(x)) for x in _flat(X)])
            slack = terms.slack(terms.values(y))
            return torch.tensor(slack, dtype=X.dtype).reshape(*X.shape[:-1], len(terms))

    return View()


def _botorch_base() -> Any:
    """Return BoTorch's module of test problems, or raise an error that says what to install."""
    try:
        from botorch.test_functions import base
    except ImportError:
        raise ImportError("from_botorch and to_botorch need BoTorch: pip install 'lcbo[botorch]'") from None
    return base
