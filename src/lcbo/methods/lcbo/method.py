"""LCBO: explore the gradients at the iterate, step on the model, repeat (paper, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from lcbo.methods.base.archive import FAILED, PENDING, TOLD
from lcbo.methods.base.builders import window_builder
from lcbo.methods.base.queued import Point, QueuedMethod
from lcbo.methods.lcbo.basins import Basins
from lcbo.methods.lcbo.evidence import PLAIN, is_rugged
from lcbo.methods.lcbo.exploration import Exploration, make_explorer
from lcbo.methods.lcbo.integers import Integers
from lcbo.methods.lcbo.local_model import LocalModel
from lcbo.methods.lcbo.options import LcboOptions
from lcbo.methods.lcbo.regime import BatchSizes, NoiseRegime, is_lost, retreat
from lcbo.methods.lcbo.scout import Scout
from lcbo.methods.lcbo.window import Window
from lcbo.methods.protocol import Array, Belief, Call, Forecast, Proposal, Setup
from lcbo.models.repeats import Repeats
from lcbo.steps.landing import Landing
from lcbo.steps.linearized import LinearizedStep, Radius
from lcbo.steps.penalty import PenaltyStep
from lcbo.steps.step import Iterate, Step

STEPS: dict[str, Callable[[LcboOptions], Step]] = {
    "linearized": lambda options: LinearizedStep(Radius(*options.radius), Landing(options.landing)),
    "penalty": lambda options: PenaltyStep(options.rho, options.eta, options.normalize),
}
_OF_THE_MODEL = ("kernel", "hyperparameters", "rescues", "uncertainty")


class Lcbo(QueuedMethod):
    """Initial design, then iterations: a batch of repeats and exploration points, and a step when it is told.

    The parts are composed here from the options. Those that change during a run keep their own state. The
    iteration k is 0 during the initial design.
    """

    VERSION = 3  # one entry per part; the state of version 1 is flat, that of 2 knows no frame and landings

    def __init__(self, setup: Setup, options: LcboOptions) -> None:
        super().__init__(setup)
        self.options = options
        self.regime = NoiseRegime()
        self.sizes = BatchSizes(options, self.regime)
        self.basins = Basins(setup, self.archive)
        self.window = Window(setup.dim, setup.n_outputs, options, self.regime, self.basins)
        kernel = PLAIN.kernel if options.kernel == "auto" else options.kernel
        builder = window_builder(setup, options, kernel, average_repeats=options.average_repeats)
        repeats = Repeats(setup.noise_var)
        self.model = LocalModel(
            self.archive, self.window, builder, repeats, setup.terms, options, setup.domain
        )
        self.step = STEPS[options.step](options)
        explorer = make_explorer(options.explorer, options.explorer_options)
        self.explore = Exploration(explorer, self.model, self.step, self.archive, setup, options)
        self.integers = None if setup.grid is None else Integers(setup.grid, self.model, self.archive)
        self.scout = Scout(setup, self.archive, repeats, options.scout)
        self._kept: dict[str, NoiseRegime | LocalModel | Step] = {
            "regime": self.regime,
            "model": self.model,
            "step": self.step,
        }
        self.iterate: Iterate | None = None  # until the initial design is told
        self._open_ids: list[int] = []

    @torch.inference_mode()
    def ask(self, n: int | None = None, most: int | None = None) -> list[Proposal]:
        """Return new proposals without blocking; see the protocol."""
        wary = self.options.avoid_failures and bool((self.archive.status == FAILED).any())
        if wary and self._queue and self._lost():
            self._queue = []  # nothing is to be learned around a point that cannot be evaluated
        if not self._queue and self._may_step(eager=n is not None):
            self._iterate()
        if self.scout.active:
            proposals = self.scout.ask(n, most, self.iteration)
            self._open_ids += [proposal.id for proposal in proposals]
            return proposals
        alone = wary and n is None and bool(self._queue) and self._queue[0][1] == "iterate"
        points, further = self._take(1 if alone else n, most)
        if further:
            points += [(u, "explore") for u in self._further(further, [u for u, _ in points])]
        proposals = [self._propose(u, role) for u, role in points]
        self._open_ids += [proposal.id for proposal in proposals]
        return proposals

    def _iterate(self) -> None:
        """Finish iteration k: model the window, move the iterate, queue the batch of iteration k + 1."""
        if self._finished():
            self._begin_again()
            return
        self.regime.rough = self.step.rough
        recent = self.window(self.archive)
        if len(recent) == 0:
            self._queue_another_design()
            self._open_ids = []
            return
        self.regime.decide(self.archive.y[recent], self.model.repeats)
        reach = self.step.info(max(self.iteration, 1))["step"]
        self.model.build(recent, self.iteration, reach)
        if self.iteration == 1 and self.regime.noisy:
            self.scout.begin()
        self.iterate = self._scouted() if self.scout.active else self._next_iterate()
        self.iteration += 1
        self._open_ids = []
        if self.iterate is None:
            return
        self._queue = self._batch(self.iterate.u)

    def _scouted(self) -> Iterate | None:
        """Return where the scout ended; there is no iterate while it goes on."""
        if self.scout.goes_on():
            return None
        found = self.scout.found()
        return Iterate.start(self.setup.snapped(self.archive.u[self.best()] if found is None else found))

    def _next_iterate(self) -> Iterate:
        """Return the best point told so far at first, then a step from the iterate, or the way back."""
        if self.iterate is None:
            if self.setup.start is not None and len(self.basins.starts) == 1:
                return Iterate.start(self.setup.start)
            return Iterate.start(self.setup.snapped(self.archive.u[self.best(self.basins.starts[-1])]))
        here: Iterate = self.iterate
        if is_lost(here, self.archive, self._open_ids):
            self.step.failed()
            if not self.options.avoid_failures:
                back = retreat(here)
                back = back if self.integers is None else self.integers.back(here, back)
                return back if self.setup.domain is None else replace(back, u=self.setup.snapped(back.u))
            # From the last good point, with what the failures taught.
            here = Iterate.start(self.setup.snapped(here.u - here.step))
        used, budget = self.setup.spent + self.archive.n_proposed, self.setup.budget
        spent = None if budget is None else used / budget
        warp = self.model.frame.warp
        local = self.model.at(warp.bent(here.u))
        self.model.doubt(local.u)
        if self.integers is not None:
            reach = self.step.info(self.iteration)["step"]
            best = self.archive.u[self.best(self.basins.starts[-1])]
            jumped = self.integers.jump(here.u, local, reach, best)
            if jumped is not None:
                jumped = jumped if self.setup.domain is None else self.setup.snapped(jumped)
                self.step.jumped(float(np.linalg.norm(warp.bent(jumped) - local.u)))
                return Iterate(jumped, jumped - here.u)
            local = replace(local, held=self.integers.mask)
        last_step = local.u - warp.bent(here.u - here.step)
        if self.integers is None:
            before = self.step.way_back(local, last_step, self.model.at, self.iteration, spent)
            if before is not None:
                here, local = Iterate.start(self.setup.snapped(here.u - here.step)), before
                last_step = np.zeros_like(last_step)
        moved = self.setup.snapped(warp.straight(self.step(local, last_step, self.iteration, spent).u))
        return Iterate(moved, moved - here.u)

    def _lost(self) -> bool:
        """Whether every evaluation at the iterate has failed, while others of its batch are still to come."""
        if self.iterate is None or any(np.array_equal(u, self.iterate.u) for u, _ in self._queue):
            return False
        return is_lost(self.iterate, self.archive, self._open_ids)

    def _finished(self) -> bool:
        """Whether there is nothing more to find here, and budget enough to look elsewhere."""
        noisy = self.regime.noisy
        if self.iterate is None or not self.options.restart:
            return False
        if not self.basins.worth_another(self.setup.budget, noisy):
            return False
        if not noisy:
            return self.basins.finished(self.step.info(max(self.iteration, 1))["step"])
        due = self.iteration % self.window.fit_every == 0  # to look for valleys costs as much as a fit
        told = self.archive.recent(None)
        return due and self.basins.settled() and is_rugged(self.archive.u[told], self.archive.y[told, 0])

    def _begin_again(self) -> None:
        """Leave the basin for a new design; the best point of all stays the answer."""
        self.model.leave()
        self.step.restart()
        points = self._uniform(max(self.setup.n_init, 1))
        design = self.basins.begin(points, self.model.frame.warp, self.regime.noisy)
        if self.setup.domain is not None:
            design = self.setup.domain.pulled(design, self.archive.u[self.best()])
        self._queue = [(u, "init") for u in design]
        self.iterate = None
        self._open_ids = []

    def _batch(self, u: Array) -> list[Point]:
        """Return the repeats at the iterate, Z_1, and the exploration points around it, Z_2.

        Where there is no noise, one evaluation at the iterate is one too many if there was one before.
        """
        b1, b2 = self.sizes(self.iteration, self.setup)
        if b1 == 1 and b2 > 0 and self.setup.deterministic and self.archive.holds(u):
            b1 = 0
        repeats = [u] * b1
        planned = repeats if self.options.condition_on_repeats else []
        probes = list(self.scout.beside(self.iteration, u[None])) if b2 > 0 and self.regime.noisy else []
        if len(probes) < b2:
            probes += list(self.explore(u, self.iteration, b2 - len(probes), [*planned, *probes]))
        return [(v, "iterate") for v in repeats] + [(v, "explore") for v in probes]

    def _further(self, count: int, planned: list[Array]) -> Array:
        """Return exploration points beyond the batch; uniform ones while the initial design is out."""
        if self.iterate is None:
            return self._uniform(count)
        return self.explore(self.iterate.u, self.iteration, count, planned)

    def _may_step(self, eager: bool) -> bool:
        """Whether the batch is complete, or complete enough when more work is asked for."""
        status = self.archive.status[self._open_ids]
        if not (status == PENDING).any():
            return True
        told = int((status == TOLD).sum())
        return eager and not self.options.wait_for_all and 2 * told >= len(self._open_ids)

    def measured(self, id: int, sem: Array) -> None:
        """Take note of the standard errors of a proposal's outputs; the model weighs the points by them."""
        self.archive.note(id, sem)

    def tell(self, id: int, y: Array | None) -> None:
        """Report a proposal's outputs, NaN where an outcome will never come; ``None`` is a failure."""
        self.archive.settle(id, y)
        if y is not None:
            self.model.tell(self.archive.u[id], y)

    @torch.inference_mode()
    def recommend(self) -> Array | None:
        """Return the evaluated point of the window with the best posterior."""
        return self.model.recommend()

    @torch.inference_mode()
    def belief(self, u: Array) -> Belief | None:
        """Return the model's belief at a point, or ``None`` before the initial design is told."""
        return self.model.belief(u)

    def candidates(self) -> Array | None:
        """Return the evaluated points of the window, or ``None`` before the initial design is told."""
        return self.model.candidates()

    @torch.inference_mode()
    def forecast(self, u: Array) -> Forecast | None:
        """Return the model's belief at points, or ``None`` before the initial design is told."""
        return self.model.forecast(u)

    def descents(self) -> Sequence[int]:
        """Return where the run began, and began again."""
        return self.basins.starts

    def remarks(self) -> Sequence[str]:
        """Return how the outcomes bend, and how often the run began again."""
        again = len(self.basins.starts) - 1
        begun = [f"the run converged and began again elsewhere {'once' if again == 1 else f'{again} times'}"]
        return [*self.model.remarks(), *(begun if again else [])]

    @torch.inference_mode()
    def surrogate(self) -> Any:
        """Return the local model and its frame."""
        view = self.model.answer
        return None if view is None else (view.model, view.frame)

    def info(self) -> Mapping[str, float]:
        """Return the iteration and the numbers of the model and of the step."""
        numbers = {"iteration": self.iteration, **self.model.info(), **self.step.info(max(self.iteration, 1))}
        again = len(self.basins.starts) - 1
        return {**numbers, "restarts": again} if again else numbers

    def state(self) -> dict[str, Any]:
        """Return the state of every part, and what of the batch is still to be asked for."""
        return {
            **self._queue_state(),
            "batch": self._open_ids,
            "starts": self.basins.starts,
            "iterate": None if self.iterate is None else self.iterate.state(),
            "scout": self.scout.state(),
            **{name: part.state() for name, part in self._kept.items()},
        }

    @torch.inference_mode()
    def restore(self, state: Mapping[str, Any], calls: Sequence[Call]) -> None:
        """Go on from a state: enter the evaluations, then bring every part to where it was."""
        state = state if "version" in state else _upgraded(state)
        self._restore_queue(state, calls)
        self._open_ids = list(state["batch"])
        self.basins.starts = list(state.get("starts", [0]))  # run files of before know one descent
        self.iterate = None if state["iterate"] is None else Iterate.restored(state["iterate"])
        self.scout.restore(state.get("scout"))
        for name, part in self._kept.items():
            part.restore(state[name])


def _upgraded(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the flat state of version 1 in the form of version 2."""
    return {
        "iteration": state["iteration"],
        "queue": state["queue"],
        "batch": state["batch"],
        "iterate": None if state["x"] is None else {"u": state["x"], "step": state["last_step"]},
        "regime": {"index": state["regime"]},
        "model": {"ids": state["model_keys"], **{name: state[name] for name in _OF_THE_MODEL}},
        "step": {"radius": state["radius"]},
    }
