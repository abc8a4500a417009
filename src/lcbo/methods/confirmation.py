"""The end of a noisy run: a shortlist is evaluated again, and the answer is decided by these fresh values.

The best point of a noisy run is the one that was luckiest. So the last few per cent of the budget go to a
shortlist (`lcbo.methods.shortlist`).

The belief about the shortlist before its first evaluation is that of the evaluations nearest to the point the
method recommends (`lcbo.methods.nearby`), its variance inflated (`lcbo.methods.decision`); fresh observations
update it. What is evaluated next is the point with the largest expected gain: the probability that the
evaluations left will show it to be feasible with the confidence asked for, times what it improves on the
point that is sure already. Points that are clearly worse or clearly infeasible are so dropped by themselves.
Where noise hides a limit from all of these evaluations, most of them measure slopes (`lcbo.methods.survey`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from lcbo.errors import ModelError
from lcbo.methods.base.archive import FAILED, PENDING, TOLD, Archive
from lcbo.methods.decision import (
    Demand,
    Prospects,
    learned,
    noise_shown,
    prospects_of,
    prospects_of_forecast,
    reproduces,
    updated,
)
from lcbo.methods.protocol import Belief, Call, Forecast, Method, Outcome, Proposal
from lcbo.methods.shortlist import after, best_observed, between, distinct, ladder
from lcbo.methods.survey import around, hidden
from lcbo.methods.wrapper import Wrapper
from lcbo.models.repeats import Repeats
from lcbo.scaling import Scaling
from lcbo.types import Array

if TYPE_CHECKING:
    from lcbo.methods.nearby import Nearby

LEAST = 2  # evaluations; fewer confirm nothing
SURVEYED = 2 / 3  # of them measure slopes where noise hides a limit: enough to choose a point, not to be sure
NOISE_DOF = 4.0  # the model's noise weighs as much as this many repeats
FLAT = 10.0  # standard deviations of an outcome over the run: a prior that says nothing
SURE = 1.0 - 1e-4  # an output that is feasible with this probability needs none of the joint risk

Said = TypeVar("Said")


class Confirmed(Wrapper):
    """A method whose last proposals confirm its answer, where there is noise.

    Args:
        method: the method.
        share: of the budget kept for the confirmation.
        demand: what the answer must meet.
    """

    def __init__(self, method: Method, share: float, demand: Demand) -> None:
        super().__init__(method)
        self._share = share
        self._demand = demand
        self._archive = Archive(self.setup.dim, self.setup.n_outputs)  # of everything, by id
        self._own_ids: list[int | None] = []  # by id, that of the method itself, None in the confirmation
        self._n_own = 0
        self._repeats = Repeats((None,) * self.setup.n_outputs)
        self._shortlist = np.zeros((0, self.setup.dim))
        self._survey = np.zeros((0, self.setup.dim))  # still to be evaluated
        self._made_at = -1  # proposals of the method when the shortlist was made
        # Model around the recommended point, belief about the shortlist before its evaluations, and how much
        # the method had been told then.
        self._near: tuple[int, Nearby | None] | None = None
        self._prior: tuple[int, Forecast, Array] | None = None

    def include(self, u: Array, y: Array | None) -> int:
        """Take a point evaluated elsewhere into the data and return the id it got."""
        id = self._enter(u, self.method.include(u, y))
        self._note(id, y)
        return id

    def ask(self, n: int | None = None, most: int | None = None) -> list[Proposal]:
        """Return the method's proposals, and those of the confirmation once its part of the budget begins."""
        kept = self._kept()
        if most is None or most > kept or not kept or not self._noisy():
            limit = most if most is None or most <= kept else most - kept
            asked = self.method.ask(n, limit)
            return [replace(own, id=self._enter(own.u, own.id)) for own in asked]
        count = 1 if n is None else min(n, most)
        if n is None and self._pending().any():
            return []
        return self._confirm(count, most)

    def tell(self, id: int, y: Array | None) -> None:
        """Report a proposal's outputs, NaN where an outcome will never come; ``None`` is a failure."""
        own = self._own_ids[id]
        if own is not None:
            self.method.tell(own, y)
        self._note(id, y)

    def measured(self, id: int, sem: Array) -> None:
        """Pass on the standard errors of a proposal's outputs."""
        own = self._own_ids[id]
        if own is not None:
            self.method.measured(own, sem)

    def descents(self) -> Sequence[int]:
        """Return where the descents of the method begin."""
        begun = self.method.descents()
        return [id for id, own in enumerate(self._own_ids) if own in begun] or [0]

    def belief(self, u: Array) -> Belief | None:
        """Return the belief of the method's model at a point; values as confirmed where they are."""
        belief, confirmed = self.method.belief(u), self._confirmed()
        if belief is None or confirmed is None or not (confirmed.u == u).all(-1).any():
            return belief
        here = np.flatnonzero((confirmed.u == u).all(-1))
        return replace(belief, mean=confirmed.expected[here[0]], std=confirmed.deviation[here[0]])

    def prospects(self) -> Prospects | None:
        """Return the shortlist as far as it was evaluated; before that, what the model says."""
        confirmed = self._confirmed()
        return prospects_of(self.method, self._demand) if confirmed is None else confirmed

    def state(self) -> dict[str, Any] | None:
        """Return the method's state and the shortlist; ``None`` where the method is replayed."""
        state = self.method.state()
        if state is None:
            return None
        points = {"shortlist": self._shortlist.tolist(), "survey": self._survey.tolist()}
        return {**state, "confirm": {**points, "made_at": self._made_at}}

    def restore(self, state: Mapping[str, Any], calls: Sequence[Call]) -> None:
        """Go on from a state: the method gets its own calls, the confirmation the others."""
        theirs: list[Call] = []
        for call in calls:
            if isinstance(call, Proposal):
                own = None if call.role == "confirm" else self._n_own
                self._enter(call.u, own)
                theirs += [] if own is None else [replace(call, id=own)]
            else:
                own = self._own_ids[call.id]
                theirs += [] if own is None else [Outcome(own, call.y, call.sem)]
                self._note(call.id, call.y)
        self.method.restore(state, theirs)
        listed = state["confirm"]
        self._shortlist = np.array(listed["shortlist"]).reshape(-1, self.setup.dim)
        # Run files of earlier versions have no survey.
        self._survey = np.array(listed.get("survey", [])).reshape(-1, self.setup.dim)
        self._made_at = listed["made_at"]

    def _all_kept(self) -> int:
        """How many evaluations of the budget are for the confirmation."""
        total = int(self._share * (self.setup.budget or 0))
        return total if total >= LEAST else 0

    def _kept(self) -> int:
        """How many of them are still to be made."""
        return max(self._all_kept() - (len(self._own_ids) - self._n_own), 0)

    def _enter(self, u: Array, own: int | None) -> int:
        self._own_ids.append(own)
        self._n_own += own is not None
        return self._archive.add(u)

    def _note(self, id: int, y: Array | None) -> None:
        self._archive.settle(id, y)
        if y is not None:
            self._repeats.add(self._archive.u[id], y)

    def _scale(self) -> Array:
        return Scaling.of(self._archive.y[self._archive.recent(None)]).std

    def _noisy(self) -> bool:
        """Whether there is noise to confirm against."""
        told = self._archive.recent(None)
        if not len(told):
            return False
        shown = noise_shown(self.setup.noise_var, self._repeats, self._scale(), self._demand.tol)
        if shown is not None:
            return shown
        best = told[self.setup.terms.best(self._archive.y[told])]
        belief = _says(lambda: self.method.belief(self._archive.u[best]))
        return not reproduces(belief, self._archive.y[best])

    def _confirmed(self) -> Prospects | None:
        """What is believed of the points of the shortlist that were evaluated, ``None`` without any."""
        evaluated = np.flatnonzero((self._fresh()[0] > 0.0).any(-1) & ~self._failed())
        return self._posterior().some(evaluated) if len(evaluated) else None

    def _confirm(self, count: int, most: int) -> list[Proposal]:
        """Return evaluations of the survey, or of the shortlist's points with the largest expected gain."""
        if self._made_at != self._n_own:
            self._shortlist = self._make_shortlist(most)
            self._survey = np.zeros((0, self.setup.dim))
            self._made_at, self._prior = self._n_own, None
        if most <= SURVEYED * self._all_kept() and not len(self._survey):
            self._survey = self._make_survey(most)
        if len(self._survey):
            points, self._survey = self._survey[:count], self._survey[count:]
        elif len(self._shortlist):
            points = self._shortlist[[self._next(most - planned) for planned in range(count)]]
        else:
            asked = self.method.ask(count, most)
            return [replace(own, id=self._enter(own.u, own.id)) for own in asked]
        iteration = int(self.method.info().get("iteration", 0))
        return [Proposal(self._enter(u, None), u, "confirm", iteration) for u in points]

    def _make_survey(self, evaluations: int) -> Array:
        """Return where to measure slopes, if all that was kept could not confirm a point."""
        scale = self._scale()
        seen = not hidden(self._demand, self._noise(), scale, self._all_kept())
        prospects = None if seen else _says(self.prospects)
        if prospects is None:
            return np.zeros((0, self.setup.dim))
        return around(prospects.u[self._demand.choose(prospects, scale)[0]], evaluations, self.setup)

    def _make_shortlist(self, evaluations: int) -> Array:
        """Return the points worth confirming, those confirmed earlier first."""
        points = [*self._shortlist[(self._fresh()[0] > 0.0).any(-1)]]
        center, near = _says(self.method.recommend), self._nearby()
        if center is None or near is None:
            points += best_observed(self._archive, self.setup.terms, self._scale())
        else:
            points += ladder(near.belief(center), self.setup.terms, self._noise(), evaluations)
            known = self.method.candidates()
            if known is not None:
                prospects = prospects_of_forecast(known, near.forecast_each(known), self._demand)
                points += between(center, known[self._demand.choose(prospects, self._scale())[0]])
        return distinct([self.setup.snapped(point) for point in points])

    def _noise(self) -> Array:
        """Standard deviation of one observation: as stated, else of repeats and as the model learned."""
        stated = np.array([math.nan if v is None else math.sqrt(v) for v in self.setup.noise_var])
        repeats = self._repeats
        prior = math.sqrt(NOISE_DOF) * self._learned_noise()
        pooled = np.hypot(prior, repeats.root_scatter) / np.sqrt(NOISE_DOF + repeats.dof)
        return np.where(np.isnan(stated), pooled, stated)

    def _learned_noise(self) -> Array:
        near = self._nearby()
        if near is not None:
            return near.noise
        # Nothing but repeats can tell; where there are none, all that varies may be noise.
        deviation = self._repeats.deviation
        return np.where(np.isnan(deviation), self._scale(), deviation)

    def _fresh(self) -> tuple[Array, Array]:
        """How often each point of the shortlist was evaluated, and the mean outputs there: ``k x B`` each."""
        shape = len(self._shortlist), self.setup.n_outputs
        count, total = np.zeros(shape), np.zeros(shape)
        for id, k in self._confirming():
            if self._archive.status[id] == TOLD:
                y = self._archive.y[id]
                count[k] += ~np.isnan(y)
                total[k] += np.where(np.isnan(y), 0.0, y)
        return count, total / np.maximum(count, 1.0)

    def _confirming(self) -> list[tuple[int, int]]:
        """Ids of the confirmation with the place of their points in the shortlist."""
        places = {u.tobytes(): k for k, u in enumerate(self._shortlist)}
        ids = [id for id, own in enumerate(self._own_ids) if own is None]
        found = [(id, places.get(self._archive.u[id].tobytes())) for id in ids]
        return [(id, place) for id, place in found if place is not None]

    def _pending(self) -> NDArray[np.bool_]:
        return self._with_status(PENDING)

    def _failed(self) -> NDArray[np.bool_]:
        return self._with_status(FAILED)

    def _with_status(self, status: int) -> NDArray[np.bool_]:
        """Whether any evaluation of each point of the shortlist has a status, ``k``."""
        found = np.zeros(len(self._shortlist), dtype=bool)
        for id, k in self._confirming():
            found[k] |= bool(self._archive.status[id] == status)
        return found

    def _posterior(self) -> Prospects:
        """The belief about the shortlist: that of the model around it, updated by what was observed since."""
        told, near = len(self._known()), self._nearby()
        if self._prior is None or self._prior[0] != told:
            forecast = self._flat() if near is None else near.forecast(self._shortlist)
            self._prior = told, forecast, learned(forecast, self._demand)
        _, forecast, log_weight = self._prior
        return updated(forecast, log_weight, *self._fresh(), self._noise(), self._shortlist)

    def _known(self) -> NDArray[np.intp]:
        """Ids of what the method was told, the confirmation not among it."""
        own = np.array([own is not None for own in self._own_ids])
        return np.flatnonzero(own & (self._archive.status == TOLD))

    def _nearby(self) -> Nearby | None:
        """The model around the point the method recommends, ``None`` where it recommends none."""
        known = self._known()
        if self._near is None or self._near[0] != len(known):
            center = _says(self.method.recommend)
            self._near = len(known), None if center is None else _says(lambda: self._around(center, known))
        return self._near[1]

    def _around(self, center: Array, known: NDArray[np.intp]) -> Nearby:
        from lcbo.methods.lcbo.frame import Warp
        from lcbo.methods.nearby import Nearby  # loads PyTorch, which methods without a model do not need

        surrogate = self.method.surrogate()
        frame = None if surrogate is None else surrogate[1]
        warp = Warp.alike(1.0, self.setup.dim) if frame is None else frame.warp
        u, y = self._archive.u[known], self._archive.y[known]
        return Nearby(center, u, y, self.setup.noise_var, warp)

    def _flat(self) -> Forecast:
        """A belief without a model: anything is possible."""
        k, b = len(self._shortlist), self.setup.n_outputs
        nothing = np.zeros((b, 0))
        return Forecast(
            scaling=Scaling.of(self._archive.y[self._archive.recent(None)]),
            mean=np.zeros((k, b)),
            var=np.full((k, b), FLAT**2),
            cov=np.tile(FLAT**2 * np.eye(k), (b, 1, 1)),
            noise_var=np.ones(b),
            missed=nothing,
            missed_var=nothing,
            missed_noise_var=nothing,
            observed=nothing,
        )

    def _next(self, left: int) -> int:
        """Which point of the shortlist to evaluate next, with so many evaluations left.

        All of them would go to that point. Its deviation s then falls to s', its mean will be normal with
        variance ``s^2 - s'^2``, and it is sure when its slack is a quantile of s'.
        """
        posterior, scale, demand = self._posterior(), self._scale(), self._demand
        objective, failed = posterior.expected[:, 0], self._failed()
        probabilities = demand.probabilities(posterior, scale)
        met = demand.met(probabilities) & (self._fresh()[0] > 0.0).any(-1) & ~failed
        var = np.square(posterior.deviation / scale)
        left_var = after(var, self._noise() / scale, left)
        in_doubt = probabilities < SURE
        shared = demand.confidence ** (1.0 / np.maximum(in_doubt.sum(-1, keepdims=True), 1))
        level = np.where(np.isnan(demand.own), shared, demand.own)
        slack = demand.slack(posterior.expected) / scale + demand.tol
        ahead = (slack - ndtri(level) * np.sqrt(left_var)) / np.sqrt(np.maximum(var - left_var, 1e-300))
        chance = np.where(failed, 0.0, np.where(in_doubt, ndtr(ahead), 1.0).prod(-1))
        reach = float(np.ptp(objective)) or 1.0
        bar = float(objective[met].min()) if met.any() else float(objective.max()) + reach
        gain = chance * np.maximum(bar - objective, 0.0)
        if gain.max() > 0.0:
            return int(gain.argmax())
        joint = np.where(failed, -1.0, probabilities.prod(-1))
        return int(np.where(met, -objective, -np.inf).argmax() if met.any() else joint.argmax())


def _says(ask: Callable[[], Said | None]) -> Said | None:
    """Return what a model says; one that cannot be built must not cost the confirmation."""
    try:
        return ask()
    except ModelError:
        return None
