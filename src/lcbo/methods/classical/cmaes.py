"""CMA-ES with an augmented Lagrangian: the `cma` package with its own handling of bounds and constraints.

The population minimizes

    f + sum_i (lambda_i g_i + mu_i g_i**2 / 2),   g_i = max(c_i, -lambda_i / mu_i),

whose coefficients `cma.ConstrainedFitnessAL` adapts after every generation (Atamna, Auger and Hansen, FOGA
2017). An equality is the pair ``h - tol <= 0``, ``-h - tol <= 0``, as that class demands.
"""

from __future__ import annotations

import warnings
from operator import itemgetter
from typing import Any

import numpy as np

from lcbo.methods.base.model_free import ModelFree
from lcbo.methods.classical.options import CmaesOptions
from lcbo.methods.protocol import Array, Setup
from lcbo.random import generator


class Cmaes(ModelFree):
    """One generation per batch; after convergence a new start with twice the population (IPOP).

    The first start is the best point of the initial design, every later one a uniform point.
    """

    def __init__(self, setup: Setup, options: CmaesOptions) -> None:
        super().__init__(setup)
        self.options = options
        self._cma = _package()
        self._strategy: Any = None
        self._lagrangian: Any = None
        self._population: list[Array] = []
        self._in_tail = False

    def info(self) -> dict[str, float]:
        """Return the generation, the restarts and the step size."""
        sigma = self.options.sigma if self._strategy is None else float(self._strategy.sigma)
        return {**super().info(), "step": sigma}

    def next_batch(self) -> list[Array]:
        """Return the next generation."""
        with warnings.catch_warnings():
            # cma warns where outputs do not vary or coefficients are not known yet, and copes with both.
            warnings.simplefilter("ignore")
            if self._strategy is None:
                self._begin(self.archive.u[self.best()])
            else:
                self._learn()
                if self._strategy.stop():
                    self.restarts += 1
                    self._begin(self.setup.uniform(self._rng(), 1)[0])
            self._lagrangian.finding_feasible |= self._enters_tail()
            self._population = self._strategy.ask()
        return [np.clip(u, 0.0, 1.0) for u in self._population]

    def _begin(self, start: Array) -> None:
        rng = generator(self.setup.seed, "cmaes", self.restarts)
        popsize = self.options.popsize or 4 + int(3.0 * np.log(self.setup.dim))
        self._strategy = self._cma.CMAEvolutionStrategy(
            start,
            self.options.sigma,
            {
                "bounds": [0.0, 1.0],
                "popsize": popsize * 2**self.restarts,
                "maxstd": np.inf if self.setup.dim == 1 else None,  # cma 4.5 fails at its limit in 1-D
                "randn": lambda *shape: rng.standard_normal(shape),
                "seed": np.nan,  # leave numpy's global generator alone
                "verbose": -10,
                "verb_log": 0,  # write no files
                "verb_disp": 0,
                "signals_filename": None,  # read no files
            },
        )
        # Its points are the evaluated pairs (objective, g), so that its two functions are look-ups.
        self._lagrangian = self._cma.ConstrainedFitnessAL(
            itemgetter(0), itemgetter(1), dimension=self.setup.dim, archives=False
        )
        self._lagrangian._al = _quiet(self._cma)(self.setup.dim)

    def _enters_tail(self) -> bool:
        """Whether the end of the budget begins now: the Lagrangian approaches from the infeasible side."""
        budget, equality = self.setup.budget, self.setup.terms.equality.any()
        if budget is None or equality or self._in_tail:
            return False
        spent = self.setup.spent + self.archive.n_proposed
        self._in_tail = spent > (1.0 - self.options.feasible_tail) * budget
        return self._in_tail

    def _learn(self) -> None:
        pairs = [self._pair(id, u) for id, u in zip(self.batch, self._population, strict=True)]
        if len(pairs[0][1]):
            self._strategy.tell(self._population, [self._lagrangian(pair) for pair in pairs])
            self._lagrangian.update(self._strategy)
        else:
            self._strategy.tell(self._population, [objective for objective, _ in pairs])

    def _rng(self) -> np.random.Generator:
        return generator(self.setup.seed, "restart", self.restarts)

    def _pair(self, id: int, u: Array) -> tuple[float, Array]:
        """Scaled objective and inequalities ``g <= 0`` of an ended proposal for a point.

        What was evaluated meets the known conditions; what they are at the point itself leads back to them.
        """
        objective, terms = self.values(id)
        conditions = self.setup.terms
        equality = conditions.equality
        tol = (conditions.tol / self.scale[conditions.rows])[equality]
        h = terms[equality]
        known = [] if self.setup.domain is None else [self.setup.domain.values(np.clip(u, 0.0, 1.0))]
        return objective, np.concatenate([terms[~equality], h - tol, -h - tol, *known])


def _quiet(cma: Any) -> Any:
    """Return the class of the coefficients without its loggers, which make a folder as soon as they exist."""

    class Quiet(cma.constraints_handler.AugmentedLagrangian):  # type: ignore[misc]
        def _init_(self) -> None:
            self.loggers: list[Any] = []
            self.logger_mu_conditions = None
            self.logging = 0

    return Quiet


def _package() -> Any:
    try:
        import cma
    except ImportError as error:
        raise ImportError("method cmaes needs the package cma: pip install 'lcbo[cma]'") from error
    return cma
