"""The model of the window in its frame, and what that says at the iterate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from lcbo.methods.base.archive import FAILED, TOLD, Archive
from lcbo.methods.base.recommend import believed, forecast, recommended, standardized_terms
from lcbo.methods.lcbo.curvature import ModeledBends
from lcbo.methods.lcbo.evidence import KERNELS, PLAIN, Choice, chosen
from lcbo.methods.lcbo.failures import wall
from lcbo.methods.lcbo.frame import Frame
from lcbo.methods.lcbo.options import LcboOptions
from lcbo.methods.lcbo.window import Window
from lcbo.methods.protocol import Belief, Forecast
from lcbo.models.border import to_array, to_tensor
from lcbo.models.builder import Model, WindowBuilder
from lcbo.models.gp import BatchedGP
from lcbo.models.hyperparameters import Hyperparameters
from lcbo.models.repeats import Repeats
from lcbo.steps.step import LocalPosterior
from lcbo.terms import Terms
from lcbo.types import Array

if TYPE_CHECKING:
    from lcbo.problem.domain import Domain

EVIDENCE_POINTS = 4, 200  # per variable, and at most: what warp and kernel are chosen on
NOISY_EVIDENCE_POINTS = 12, 400  # noise must be averaged out here as well
EARLY = 8  # evaluations per variable until which they are chosen twice as often


@dataclass(frozen=True)
class View:
    """A model, the frame it sees the cube in, and the ids of its evaluations."""

    model: Model
    frame: Frame
    ids: NDArray[np.intp]


class LocalModel:
    """Gaussian processes of the window, one per output.

    Two are kept apart, because looking at the answer must not change a run: the model an iteration steps and
    explores with, and the one with everything told so far, frame and hyperparameters as last learned.
    """

    def __init__(
        self,
        archive: Archive,
        window: Window,
        builder: WindowBuilder,
        repeats: Repeats,
        terms: Terms,
        options: LcboOptions,
        domain: Domain | None = None,
    ) -> None:
        self.builder = builder
        self.repeats = repeats  # what the whole run knows about the noise
        self.now: Model | None = None  # of the iteration
        self.frame = Frame.whole(archive.u.shape[1])
        self.uncertainty: float | None = None  # of the gradients, at the first step after the latest fit
        self._unknown: Array | None = None  # traces of their covariances, B
        self._refitted = False  # the model of the iteration
        self._archive = archive
        self._window = window
        self._terms = terms
        self._options = options
        self._domain = domain
        auto = options.kernel == "auto"
        self._kernels = KERNELS if auto else (options.kernel,)
        self._choice = PLAIN if auto else Choice(PLAIN.power, options.kernel)
        self._chosen_at = 0  # evaluations told when warp and kernel were chosen last
        self._elsewhere = False  # the frame is still that of another place
        self._ids: list[int] = []
        self._lasting: list[int] = []  # of them those that stay in the window until the next fit
        self._told = 0
        self._answer: tuple[int, View | None] | None = None
        self._recommended: tuple[View, Array] | None = None  # for which answer, and what
        self._left: View | None = None  # of the best basin, once another was begun

    def tell(self, u: Array, y: Array) -> None:
        """Take note of one evaluation."""
        self.repeats.add(u, y)
        self._told += 1

    def build(self, ids: NDArray[np.intp], iteration: int, reach: float) -> None:
        """Model the evaluations ``ids`` for steps of a length.

        Every so many iterations frame and hyperparameters are learned anew.
        """
        pause = self._window.fit_every
        refit = self._refitted = iteration % pause == 0
        if self._options.adapt_frame and self._options.fit == "lattice":
            changed = self._choose()
            if changed or refit or self._elsewhere:
                warp = self._choice.warp(len(self.frame.center))
                self._move(Frame.around(warp, self._archive.u[ids], reach))
        self._elsewhere = False
        if self._options.fit == "lattice" and (refit or not self._lasting):
            fresh = len(np.setdiff1d(ids, self._ids))
            leaving = len(ids) + (pause - 1) * fresh - (self._window.size or math.inf)
            self._lasting = ids[int(max(leaving, 0)) :].tolist()
        self.builder.kernel = self._choice.kernel
        # Its deviation is meant for coordinates of the window's size.
        adapts = self._options.adapt_frame
        self.builder.plane = self._window.regime.plane(len(self.frame.center)) if adapts else 0.0
        if self._options.reset_between_fits:
            self.builder.reset()
        self.now = self._built(ids, refit)
        self._ids = ids.tolist()
        self._answer = None

    def leave(self) -> None:
        """Learn the next model without regard to the last: it will be of another place.

        Warp and kernel are of the problem, and stay. The model of the best point is kept for the answer.
        """
        view = self.answer
        if view is not None and view is not self._left:
            self._left = self._as_left(view.ids, view.frame, self.builder.hyper)
        self._answer = None
        self.builder.forget()
        self._lasting = []
        self._elsewhere = True

    @property
    def answer(self) -> View | None:
        """The model of the answer's basin with everything told so far, or ``None`` before the first."""
        if self.now is None:
            return None
        if self._answer is None or self._answer[0] != self._told:
            self._answer = self._told, self._best_view()
        return self._answer[1]

    def _best_view(self) -> View:
        """The model of the basin with the best point: as observed or, where there is noise, as expected."""
        left, noisy = self._left, self._window.regime.noisy
        if left is not None:
            told = self._archive.recent(None)
            best = told[self._terms.best(self._archive.y[told])]
            if self._elsewhere or (not noisy and best < self._window.since):
                return left  # elsewhere: nothing is known of the present basin yet
        ids = self._window(self._archive)
        here = View(self._built(ids, refit=False), self.frame, ids)
        if left is None or not noisy:
            return here
        expected = [self._expected(view.model) for view in (left, here)]
        return (left, here)[self._terms.best(np.stack(expected))]

    def _expected(self, model: Model) -> Array:
        """Outputs at the best of a model's points, ``B``, as it expects them, in user units."""
        best = model.gp.u[recommended(model, self._terms)]
        expected: Array = model.scaling.undo(to_array(model.gp.mean(best[None]))[:, 0])
        return expected

    def _as_left(self, ids: NDArray[np.intp], frame: Frame, hyper: Hyperparameters) -> View:
        """Build the model of a basin that is left, without a trace in the builder of the next."""
        builder = copy(self.builder)
        builder.resume(hyper, hyper.kernel)
        u, y, sem = frame.local(self._archive.u[ids]), self._archive.y[ids], self._archive.sem(ids)
        model = builder.build(u, y, self.repeats, False, sem)
        return View(model, frame, ids)

    def recommend(self) -> Array | None:
        """Return the evaluated point with the best posterior, or ``None`` without a model."""
        view = self.answer
        if view is None:
            return None
        if self._recommended is None or self._recommended[0] is not view:
            u = self._archive.u[view.ids]
            best = to_array(view.model.gp.u[recommended(view.model, self._terms)])
            self._recommended = view, u[int((view.frame.local(u) == best).all(1).argmax())]
        return self._recommended[1].copy()

    def belief(self, u: Array) -> Belief | None:
        """Return what the answer's model believes at a point of the unit cube, or ``None`` without one."""
        view = self.answer
        if view is None:
            return None
        slope = view.frame.warp.slope(u) / view.frame.width
        return believed(view.model, u, view.frame.local(u), slope)

    def candidates(self) -> Array | None:
        """Return the evaluated points of the answer's model, or ``None`` without one."""
        return None if self.answer is None else self._archive.u[self.answer.ids].copy()

    def forecast(self, u: Array) -> Forecast | None:
        """Return what the answer's model believes at points of the unit cube, or ``None`` without one."""
        view = self.answer
        return None if view is None else forecast(view.model, view.frame.local(u))

    def at(self, z: Array) -> LocalPosterior:
        """Return what the iteration's model says at a point of the working cube."""
        assert self.now is not None
        terms, scaling = self._terms, self.now.scaling
        x = to_tensor(self.frame.placed(z), self.now.gp.u)
        mean, var, slopes = map(to_array, self.now.gp.tangent(x))
        gradient, deviation = slopes / self.frame.width, np.sqrt(var)
        rows = np.array([0, *terms.rows])
        local = LocalPosterior(
            u=z,
            value=float(mean[0] + scaling.mean[0] / scaling.std[0]),
            objective=gradient[0],
            deviation=float(deviation[0]),
            values=standardized_terms(self.now, mean, terms),
            slopes=terms.sign[:, None] * gradient[terms.rows],
            deviations=deviation[terms.rows],
            equality=terms.equality,
            scale=scaling.std[rows],
            noise=self.noise()[rows],
            exact=not self._window.regime.noisy,
            limits=self._limits(z),
        )
        if self._options.avoid_failures:
            local = self._walled(local)
        return self._bent(local, x) if self._options.step == "linearized" else local

    def _limits(self, z: Array) -> tuple[Array, Array] | None:
        """Known conditions linearized at a point of the working cube, over the lengths of their slopes."""
        if self._domain is None:
            return None
        u = self.frame.warp.straight(z)
        values, slopes = self._domain.limits(u)
        slopes = slopes / self.frame.warp.slope(u)
        norms = np.maximum(np.linalg.norm(slopes, axis=1), 1e-300)
        return values / norms, slopes / norms[:, None]

    def _bent(self, local: LocalPosterior, x: Tensor) -> LocalPosterior:
        """Add second derivatives of the means in the working cube, as far as they are to be trusted."""
        assert self.now is not None
        gp, width, trust = self.now.gp, self.frame.width, self._window.regime.trust
        if trust <= 0.0:
            return local
        hessian = trust / width**2 * to_array(gp.outputs(slice(1)).mean_hessian(x)[0])
        bends = ModeledBends(gp, x, width, self._terms, trust, len(local.values) - len(self._terms))
        return replace(local, hessian=hessian, bends=bends)

    def _walled(self, local: LocalPosterior) -> LocalPosterior:
        """Add the wall behind which evaluations fail as one more inequality, known exactly."""
        status = self._archive.status
        if not (status == FAILED).any():
            return local
        found = wall(local.u, *(self.frame.warp.bent(self._archive.u[status == s]) for s in (TOLD, FAILED)))
        if found is None:
            return local
        normal, value = found
        return replace(
            local,
            values=np.append(local.values, value),
            slopes=np.concatenate([local.slopes, normal[None]]),
            deviations=np.append(local.deviations, 0.0),
            equality=np.append(local.equality, False),
            scale=np.append(local.scale, 1.0),
            noise=None if local.noise is None else np.append(local.noise, 0.0),
        )

    def doubt(self, z: Array) -> None:
        """Take note of how uncertain the gradients are at a point of the working cube, after every fit.

        It is the worst output's ``sqrt(tr S / (|g|^2 + tr S))``, mean g and covariance S: 1 knows nothing.
        It changes little between fits, and with many outputs it costs as much as a model.
        """
        assert self.now is not None
        if not self._refitted and self._unknown is not None:
            return
        x = to_tensor(self.frame.placed(z), self.now.gp.u)
        mean, trace = map(to_array, self.now.gp.gradient(x))
        unknown, known = trace.clip(0.0), np.square(mean).sum(-1)
        self.uncertainty = float(np.sqrt((unknown / (unknown + known).clip(1e-300)).max()))
        self._unknown = trace

    def least_known(self, most: int | None, x: Tensor) -> BatchedGP:
        """Return the model of at most so many outputs, those least known when it was looked last.

        Before there was one, those least known at ``x``, a point of the frame.
        """
        assert self.now is not None
        gp = self.now.gp
        if most is None or most >= self._archive.y.shape[1]:
            return gp
        unknown = to_array(gp.gradient(x)[1]) if self._unknown is None else self._unknown
        return gp.outputs(unknown.argsort(kind="stable")[-most:])

    def noise(self) -> Array:
        """Standard deviations of the observations, standardized, ``B``: of repeats, else as learned."""
        assert self.now is not None
        scatter, dof = self.repeats.scatter(self.now.scaling.std)
        learned = to_array(self.now.gp.hyper.noise_var)
        noise: Array = np.sqrt(np.where(dof > 0.0, scatter / np.maximum(dof, 1.0), learned))
        return noise

    def remarks(self) -> list[str]:
        """Return how the outcomes bend, where they do."""
        words = self._choice.in_words()
        return [] if words is None else [words]

    def info(self) -> dict[str, float]:
        """Return the numerical rescues so far, and the gradient's uncertainty once there was a step."""
        numbers: dict[str, float] = {"rescues": self.builder.rescues}
        if self.uncertainty is not None:
            numbers["gradient_uncertainty"] = self.uncertainty
        return numbers

    def state(self) -> dict[str, Any]:
        """Return which evaluations the iteration's model has, its frame and its hyperparameters."""
        return {
            "ids": self._ids,
            "lasting": self._lasting,
            "kernel": self.builder.kernel,
            "hyperparameters": self.builder.hyper.stored(),
            "rescues": self.builder.rescues,
            "uncertainty": self.uncertainty,
            "unknown": None if self._unknown is None else self._unknown.tolist(),
            "frame": self.frame.state(),
            "power": self._choice.power,
            "chosen_at": self._chosen_at,
            "elsewhere": self._elsewhere,
            "left": None
            if self._left is None
            else {
                "ids": self._left.ids.tolist(),
                "frame": self._left.frame.state(),
                "hyperparameters": self._left.model.gp.hyper.stored(),
            },
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Build the model a state was taken with; the evaluations have been told.

        Run files of before know no frame: they go on in the unit cube until the next choice.
        """
        self._ids = list(state["ids"])
        self._lasting = list(state.get("lasting", []))
        if "frame" in state:
            self.frame = Frame.restored(state["frame"])
            self._choice = Choice(state["power"], state["kernel"])
            self._chosen_at, self._elsewhere = state["chosen_at"], state.get("elsewhere", False)
        if self._ids:
            self.builder.resume(Hyperparameters.of(state["hyperparameters"]), state["kernel"])
            self.now = self._built(np.array(self._ids), refit=False)
        if (left := state.get("left")) is not None:
            hyper = Hyperparameters.of(left["hyperparameters"])
            self._left = self._as_left(np.array(left["ids"]), Frame.restored(left["frame"]), hyper)
        if self._elsewhere:
            self.builder.forget()
        self.builder.rescues = state["rescues"]
        self.uncertainty = state["uncertainty"]
        if state.get("unknown") is not None:  # run files of before have none
            self._unknown = np.array(state["unknown"])

    def _built(self, ids: NDArray[np.intp], refit: bool) -> Model:
        u = self.frame.local(self._archive.u[ids])
        y, sem = self._archive.y[ids], self._archive.sem(ids)
        lasting = np.isin(ids, self._lasting)
        stay = 0 < len(self._lasting) == lasting.sum()
        return self.builder.build(u, y, self.repeats, refit, sem, lasting if stay else None)

    def _choose(self) -> bool:
        """Compare warps and kernels where enough is new; return whether the coordinates change."""
        dim = len(self.frame.center)
        pause = dim if self._told < EARLY * dim else 2 * dim
        if self._chosen_at and self._told < self._chosen_at + pause:
            return False
        each, most = NOISY_EVIDENCE_POINTS if self._window.regime.noisy else EVIDENCE_POINTS
        recent = self._archive.recent(min(each * dim, most), self._window.since)
        before = self._choice
        self._choice = chosen(
            self._archive.u[recent],
            self._archive.y[recent],
            self.repeats,
            before,
            first=self._chosen_at == 0,
            kernels=self._kernels,
            device=self.builder.device,
        )
        self._chosen_at = self._told
        return self._choice.power != before.power

    def _move(self, frame: Frame) -> None:
        """Go to another frame; lengthscales follow its zoom, and start anew where the warp is another."""
        if np.array_equal(frame.warp.log_power, self.frame.warp.log_power):
            self.builder.zoom(self.frame.width / frame.width)
        else:
            self.builder.forget()
        self.frame = frame
