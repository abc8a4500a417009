"""BayeSQP: sequential quadratic programming on a model that knows how sure it is (Brunzema et al., 2025)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from lcbo.acquisition.box import within_ball
from lcbo.acquisition.thompson import picks
from lcbo.methods.base.archive import TOLD
from lcbo.methods.base.batches import ModelBatches
from lcbo.methods.base.builders import growing_builder
from lcbo.methods.base.transforms import TRANSFORMS
from lcbo.methods.protocol import Array, Call, Proposal, Setup
from lcbo.methods.sqp.options import BayesqpOptions
from lcbo.methods.sqp.subproblem import subproblem_step
from lcbo.models.border import CPU, to_array, to_tensor
from lcbo.models.draws import exact
from lcbo.random import generator
from lcbo.scaling import Scaling

NOISE_BOUNDS = (1e-6, 1e-1)  # authors' code
SHORTEST = 1e-4  # a shorter step from which something feasible is known ends a descent


class BayeSqp(ModelBatches):
    """Iterations of samples around the iterate, a subproblem, and a line search of a few trials.

    It begins at the best point of the initial design. The phases are ``design``, ``samples`` and ``search``:
    of what is out, or of what the queue holds. A descent that has converged is followed by another one from a
    uniform point; the data are kept.

    Attributes:
        center: the iterate, ``d``.
        direction: the step of the subproblem, ``d``; the line search is on it.
        multipliers: of the terms in user units, from the last subproblem.
    """

    def __init__(self, setup: Setup, options: BayesqpOptions) -> None:
        builder = growing_builder(setup, options, "dimension")
        if builder.fit is not None:
            builder.fit = replace(builder.fit, bounds=(*builder.fit.bounds[:2], NOISE_BOUNDS))
        super().__init__(setup, builder, TRANSFORMS["zscore"])
        self.options = options
        self.center, self.direction = np.full(setup.dim, 0.5), np.zeros(setup.dim)
        self.multipliers = np.zeros(len(setup.terms))
        self._phase = "design"
        self._trials: list[int] = []
        self._starts = [0]

    def _propose(self, u: Array, role: str) -> Proposal:
        proposal = super()._propose(u, role)
        if role == "iterate":
            self._trials.append(proposal.id)
        return proposal

    def _beyond(self, count: int) -> Array:
        return self._uniform(count) if self._phase == "design" else self._around(count)

    @property
    def _fitted(self) -> bool:
        return self._builder.n_fitted > 0

    def descents(self) -> Sequence[int]:
        """Return the id of the first evaluation of each descent."""
        return self._starts

    def info(self) -> Mapping[str, float]:
        """Return iteration, rescues of the model, length of the last step and restarts."""
        return {
            "iteration": self.iteration,
            "rescues": self._builder.rescues,
            "step": float(np.linalg.norm(self.direction)),
            "restarts": len(self._starts) - 1,
        }

    def state(self) -> dict[str, Any]:
        """Return iterate, step, phase, hyperparameters and what is still to be asked for."""
        return {
            **self._queue_state(),
            "center": self.center.tolist(),
            "direction": self.direction.tolist(),
            "multipliers": self.multipliers.tolist(),
            "phase": self._phase,
            "trials": self._trials,
            "open": self._open_ids,
            "starts": self._starts,
            "model": self._builder.state(),
        }

    def restore(self, state: Mapping[str, Any], calls: Sequence[Call]) -> None:
        """Go on from a state; the next ask that needs a model builds it."""
        self._restore_queue(state, calls)
        self.center, self.direction, self.multipliers = (
            np.array(state[name], dtype=float) for name in ("center", "direction", "multipliers")
        )
        self._phase, self._trials = state["phase"], list(state["trials"])
        self._open_ids, self._starts = list(state["open"]), list(state["starts"])
        self._builder.restore(state["model"])

    def _advance(self) -> None:
        """Queue what comes after what has ended."""
        self._open_ids = []
        if len(self.archive.recent(None)) == 0:
            self._queue_another_design()
        elif self._phase == "design":
            self._sample_around(self.archive.u[self.best()])
        elif self._phase == "samples":
            self._solve()
            if self._converged():
                self.multipliers = np.zeros(len(self.multipliers))
                self._starts.append(self.archive.size)
                self._sample_around(self._uniform(1)[0])
            else:
                self._phase, self._trials = "search", []
                self._try_next()
        elif len(self._trials) < self.options.trials:
            self._try_next()
        else:
            self._sample_around(self._best_trial())

    def _sample_around(self, center: Array) -> None:
        """Make a point the iterate and queue the samples around it."""
        self.center, self._phase = center.copy(), "samples"
        self.iteration += 1
        count = self.setup.dim + 1 if self.options.samples is None else self.options.samples
        self._queue = [(u, "explore") for u in self._around(count)]

    def _around(self, count: int) -> Array:
        """Sobol points of the ball around the iterate, those beyond the cube mirrored: ``count x d``."""
        rng = generator(self.setup.seed, "ball", self.archive.size)
        # A Sobol sequence is balanced over powers of two; of fewer points the first are taken.
        unit = qmc.Sobol(self.setup.dim + 1, rng=rng).random_base2((count - 1).bit_length())[:count]
        direction = ndtri(np.clip(unit[:, :-1], 1e-12, 1.0 - 1e-12))
        center = to_tensor(self.center, CPU)
        reach = unit[:, -1] ** (1.0 / self.setup.dim)
        ball = (to_tensor(a, center) for a in (direction, reach))
        return to_array(within_ball(center, self.options.radius, *ball))

    def _solve(self) -> None:
        """Fit, and let the subproblem say direction and multipliers."""
        due = (self.iteration - 1) % self.options.fit_every == 0
        grown = len(self.archive.recent(None)) >= (1.0 + self.options.fit_growth) * self._builder.n_fitted
        model, y, terms = self._model(refit=due and grown)
        u = to_tensor(self.center, model.gp.u)
        unit = model.scaling.std[terms.rows] / model.scaling.std[0]
        self.direction, found = subproblem_step(
            self.center,
            model.gp.posterior(u),
            to_array(model.gp.mean_hessian(u)),
            terms.scaled(model.scaling),
            self.multipliers * unit,
            self.options.delta_f if self.setup.terms.feasible(y).any() else 0.5,
            self.options.delta_c,
        )
        self.multipliers = found / unit

    def _converged(self) -> bool:
        known = self.archive.y[self.archive.recent(None)]
        short = float(np.linalg.norm(self.direction)) < SHORTEST
        return short and bool(self.setup.terms.feasible(known).any())

    def _try_next(self) -> None:
        """Queue the point of the line that a joint draw of all outputs finds best."""
        model, _, terms = self._model()
        rng = generator(self.setup.seed, "line", self.archive.size)
        count = self.options.n_candidates
        share = qmc.Sobol(1, rng=rng).random_base2((count - 1).bit_length())[:count]
        line = np.clip(self.center + share * self.direction, 0.0, 1.0)
        draws = exact(model.gp, to_tensor(line, model.gp.u), 1, rng)
        violation = terms.scaled(model.scaling).violation(draws, axis=-2).sum(-2)
        (chosen,) = picks(draws[:, 0], violation)
        self._queue = [(line[chosen], "iterate")]

    def _best_trial(self) -> Array:
        """The best trial by what was observed; the iterate where all of them failed."""
        told = [id for id in self._trials if self.archive.status[id] == TOLD]
        if not told:
            return self.center
        everything = self.archive.y[self.archive.recent(None)]
        y = self.archive.y[told]
        total = self.setup.terms.total(y, Scaling.of(everything).std)
        order = np.lexsort((np.nan_to_num(y[:, 0], nan=np.inf), total))
        best: Array = self.archive.u[told[int(order[0])]]
        return best
