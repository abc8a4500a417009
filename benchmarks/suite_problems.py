"""The problems of the suite: five kinds, each split by hand into a tuning half and a checking half.

Most are the library's own. Four families exist for the suite alone: trusses drawn by a seed, stepped beams of
any number of segments, convex programs whose many constraints are active at an answer known by construction,
and COCO's bbob-constrained functions, which need the package ``coco-experiment``. No method may be tuned on
the checking half: it is run to confirm what was found on the other.
"""

from __future__ import annotations

import contextlib
import json
import math
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial import Delaunay

import lcbo
from lcbo import Constraint
from lcbo.problems import Benchmark
from lcbo.problems.base import BestKnown
from lcbo.problems.formulas.scalable import Keane
from lcbo.problems.structures import beam50
from lcbo.problems.structures.mechanics import SteppedCantilever, Truss, smooth_max
from lcbo.types import Array

KINDS = ("structures", "formulas", "gp", "coco", "many")
HALVES = ("tuning", "checking")
ANSWERS = Path(__file__).with_name("suite_answers.json")
SCALE_POINTS = 1000
SPREAD_PER_SD = 1.35  # interquartile range of a normal distribution, in standard deviations
EQUALITY_TOL = 1e-3  # accepted error of an equality, in units of its outcome's spread
ROUNDING_TOL = 1e-9  # accepted violation of an inequality, likewise: solvers that converge from outside
NEAR_TOL = 1e-6  # what `table --near` accepts instead
LARGEST_BUDGET = 2000

# --- Families of the suite alone ---------------------------------------------------------------------------

_MODULUS, _DENSITY = 1.0e7, 0.1  # psi, lb / in^3
_TENSION, _COMPRESSION = 25_000.0, 15_000.0  # psi
_SPACING, _JITTER = 100.0, 0.22  # in, and the share of it a node may be moved
_WATCHED = 3  # nodes whose displacements are limited


class DrawnTruss(Benchmark):
    """Lightest truss of a random geometry under limits on every bar's stress and on the far nodes' moves.

    The nodes of a grid are moved at random and joined by a Delaunay triangulation; those of the first column
    (in space: of the lowest level) are fixed, and random forces pull at a share of the others. A bar may
    carry 25000 psi in tension and 15000 psi in compression. The largest area allowed is twice the largest of
    the fully stressed design, the least a hundredth of that. The last three nodes may move by 0.85 of the
    most they do in that design, so that stresses and stiffness both bind.

    Args:
        shape: Nodes along each axis, two numbers for a plane truss, three for one in space.
        seed: Which draw.
        loads: Share of the free nodes that are loaded.
    """

    def __init__(self, shape: tuple[int, ...], seed: int, loads: float = 0.5) -> None:
        rng = np.random.default_rng([len(shape), seed])
        grid = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1).reshape(-1, len(shape))
        fixed = grid[:, 0 if len(shape) == 2 else 2] == 0
        moved = rng.uniform(-_JITTER, _JITTER, grid.shape) * ~fixed[:, None]
        nodes = _SPACING * (grid + moved)
        simplices = Delaunay(nodes + 1e-6 * rng.standard_normal(nodes.shape)).simplices
        pairs = {(int(a), int(b)) for s in np.sort(simplices) for i, a in enumerate(s) for b in s[i + 1 :]}
        bars = sorted(pair for pair in pairs if not fixed[list(pair)].all())
        self.truss = Truss(
            nodes.tolist(),
            [(a + 1, b + 1) for a, b in bars],
            (np.flatnonzero(fixed) + 1).tolist(),
            _MODULUS,
        )
        free = np.flatnonzero(~fixed)
        loaded = np.sort(rng.choice(free, size=math.ceil(loads * len(free)), replace=False))
        force = np.zeros_like(nodes)
        direction = rng.standard_normal((len(loaded), nodes.shape[1]))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        force[loaded] = direction * rng.uniform(1e4, 3e4, (len(loaded), 1))
        self.force: Array = force[free].ravel()
        areas = self._fully_stressed()
        moves = np.abs(self.truss.respond(areas[None], self.force).displacement[0])
        self._watched = np.arange(len(moves))[-_WATCHED * len(shape) :]
        move = 0.85 * float(moves[self._watched].max())
        largest = 2.0 * float(areas.max())
        limits = [Constraint(f"stress_{i + 1}", -_COMPRESSION, _TENSION) for i in range(len(bars))]
        limits += [Constraint(f"move_{i + 1}", -move, move) for i in range(len(self._watched))]
        super().__init__(
            np.tile((largest / 100.0, largest), (len(bars), 1)),
            limits,
            "weight",
            best_known=None,
            noise_scale={"weight": 1.0, **{c.name: 1.0 for c in limits}},
        )

    def _fully_stressed(self) -> Array:
        """Areas at which every bar carries its limit, or is as thin as a hundredth of the largest."""
        areas = np.ones(len(self.truss.bars))
        for _ in range(100):
            stress = self.truss.respond(areas[None], self.force).stress[0]
            areas = areas * np.where(stress > 0.0, stress / _TENSION, -stress / _COMPRESSION)
            areas = np.maximum(areas, 0.01 * areas.max())
        return areas

    def outcomes_at(self, X: Array) -> dict[str, Array]:
        """Weight (lb), signed stresses (psi) and displacements of the last nodes (in)."""
        response = self.truss.respond(X, self.force)
        values = np.column_stack([response.stress, response.displacement[:, self._watched]])
        weight = _DENSITY * X @ self.truss.lengths
        return {"weight": weight} | dict(zip((c.name for c in self.constraints), values.T, strict=True))


class SteppedBeam(Benchmark):
    """The library's beam with any number of segments, two sides each, and a load of its own.

    Args:
        segments: How many steps; ``d`` is twice that.
        load: At the tip, in lb.
        each: One limit per segment's stress instead of one smooth maximum of all.
    """

    def __init__(self, segments: int, load: float, each: bool) -> None:
        self.beam = SteppedCantilever(100.0, segments, beam50.BEAM.modulus, load)
        self.each = each
        names = [f"stress_{i + 1}" for i in range(segments)] if each else ["stress"]
        super().__init__(
            np.tile(beam50.SIDE, (2 * segments, 1)),
            [Constraint(name, ub=0.0) for name in (*names, "tip")],
            "volume",
            best_known=None,
            noise_scale=dict.fromkeys(("volume", *names, "tip"), 1.0),
        )

    def outcomes_at(self, X: Array) -> dict[str, Array]:
        """Volume (in^3), and stresses and tip deflection over their limits less 1."""
        width, height = X[:, 0::2], X[:, 1::2]
        stress = self.beam.stress(width, height) / beam50.STRESS_LIMIT - 1.0
        stress = stress if self.each else smooth_max(stress, 20.0)[:, None]
        tip = self.beam.deflection(width, height) / beam50.TIP_LIMIT - 1.0
        values = np.column_stack([self.beam.volume(width, height), stress, tip])
        return dict(zip(self.outcomes, values.T, strict=True))


class ConvexProgram(Benchmark):
    """A random program with many active constraints whose answer is known by construction.

        f(x) = 1 + g.z + z.Q z / 2,    g_i(x) = s_i (a_i.z + c_i |z|^2 / 2 - b_i),    z = x - x*

    Q is positive definite with condition number 100, the a_i are unit vectors, half of the c_i are zero, and
    the units s_i span four decades. Of the inequalities the first ``active`` have b_i = 0. The equalities are
    h_j = s_j (a_j.z + c_j |z|^2 / 2). With multipliers that are all positive, g = -sum lambda_i a_i makes the
    Lagrangian convex with its minimum at x*, so f(x) >= L(x) >= L(x*) = f(x*) = 1 at every feasible x: the
    answer is global although nonlinear equalities are not convex. The a_i of the inequalities point away from
    one direction, along which (and along the equalities) the feasible set has an inside.

    Args:
        d: Dimension.
        inequalities: How many.
        active: How many of these are active at the answer.
        equalities: How many.
        seed: Which draw.
    """

    def __init__(self, d: int, inequalities: int, active: int, equalities: int, seed: int) -> None:
        rng = np.random.default_rng([d, inequalities, active, equalities, seed])
        self._at: Array = rng.uniform(-0.5, 0.5, d)
        basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
        self._curvature: Array = (basis * np.geomspace(0.1, 10.0, d)) @ basis.T
        total = inequalities + equalities
        rows = rng.standard_normal((total, d))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        inward = -self._at / np.linalg.norm(self._at)
        if equalities:  # along their tangent space
            across = np.linalg.qr(rows[inequalities:].T)[0]
            inward = inward - across @ (across.T @ inward)
            inward /= np.linalg.norm(inward)
        slope = rows[:inequalities] @ inward
        # Every inequality decreases inwards by at least a tenth of the distance.
        rows[:inequalities] -= np.outer(slope + np.maximum(np.abs(slope), 0.1), inward)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        self._rows: Array = rows
        self._bend: Array = np.where(np.arange(total) % 2, rng.uniform(0.1, 0.4, total), 0.0)
        self._room: Array = rng.uniform(0.05, 0.5, total)
        self._room[:active] = self._room[inequalities:] = 0.0
        self._unit: Array = 10.0 ** rng.uniform(-2.0, 2.0, total)
        weight = rng.uniform(0.2, 1.0, total) * (self._room == 0.0)
        self._slope: Array = -weight @ rows * (5.0 / np.linalg.norm(weight @ rows))
        limits = [Constraint(f"g{i + 1}", ub=0.0) for i in range(inequalities)]
        limits += [Constraint(f"h{i + 1}", eq=0.0, tol=1e-3) for i in range(equalities)]
        super().__init__(
            np.tile((-1.0, 1.0), (d, 1)),
            limits,
            "f",
            best_known=BestKnown(1.0, self._at, "by construction", "this suite"),
            noise_scale={"f": 1.0, **{c.name: 1.0 for c in limits}},
        )

    def outcomes_at(self, X: Array) -> dict[str, Array]:
        """Objective and constraints of ``n x d`` points."""
        Z = X - self._at
        f = 1.0 + Z @ self._slope + 0.5 * np.einsum("ni,ij,nj->n", Z, self._curvature, Z)
        square = (Z**2).sum(axis=1)[:, None]
        values = self._unit * (Z @ self._rows.T + 0.5 * self._bend * square - self._room)
        return dict(zip(self.outcomes, (f, *values.T), strict=True))


class LogKeane(Keane):
    """Keane's bump with the logarithm of its product, whose spread over the box says nothing otherwise."""

    def outcomes_at(self, X: Array) -> dict[str, Array]:
        """Objective, ``log 0.75 - log prod x`` and the sum; logarithms are cut at 1e-6."""
        outcomes = super().outcomes_at(X)
        return {**outcomes, "g1": np.log(0.75) - np.log(np.maximum(X, 1e-6)).sum(axis=1)}


class Coco(Benchmark):
    """A function of COCO's suite bbob-constrained, with its answer; not picklable.

    Hansen et al., COCO: a platform for comparing continuous optimizers in a black-box setting, Optimization
    Methods and Software 36, 2021.

    Attributes:
        start: the feasible point COCO hands out; no method gets it, its value is the reference f0.
    """

    def __init__(self, function: int, d: int, instance: int) -> None:
        import cocoex

        self._suite = cocoex.Suite("bbob-constrained", f"instances: {instance}", f"dimensions: {d}")
        self._coco = self._suite.get_problem_by_function_dimension_instance(function, d, instance)
        self.start: Array = self._coco.initial_solution
        # COCO says its answer only by a file in the working directory.
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            self._coco._best_parameter("print")
            x = np.loadtxt("._bbob_problem_best_parameter.txt")
        names = [f"g{i + 1}" for i in range(self._coco.number_of_constraints)]
        super().__init__(
            np.column_stack([self._coco.lower_bounds, self._coco.upper_bounds]),
            [Constraint(name, ub=0.0) for name in names],
            "f",
            best_known=BestKnown(float(self._coco(x)), x, "by construction", "COCO"),
            noise_scale=dict.fromkeys(["f", *names], 1.0),
        )

    def outcomes_at(self, X: Array) -> dict[str, Array]:
        """Objective and constraints, one point after the other."""
        values = np.array([[self._coco(x), *self._coco.constraint(x)] for x in X])
        return dict(zip(self.outcomes, values.T, strict=True))


# --- The suite ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """One problem of the suite: how it is made, of which kind it is and in which half."""

    name: str
    kind: str
    half: str
    factory: Callable[..., Benchmark] = field(repr=False)
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def make(self) -> Benchmark:
        """Return the problem without noise and with the suite's answer where it has none of its own."""
        problem = self.factory(**self.arguments)
        answer = _answers().get(self.name)
        if problem.best_known is None and answer is not None:
            problem.best_known = BestKnown(
                answer["value"], np.array(answer["x"]), answer["how"], "suite_answers.py"
            )
        return problem


def _library(name: str, **variant: Any) -> Benchmark:
    return lcbo.problems.make(name, **variant)


@cache
def _answers() -> dict[str, dict[str, Any]]:
    return json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {}


def _both(kind: str, tuning: list[tuple[Any, ...]], checking: list[tuple[Any, ...]]) -> list[Entry]:
    """Return the entries of both halves; each is given as (name, factory, arguments)."""
    halves = zip(HALVES, (tuning, checking), strict=True)
    return [Entry(name, kind, half, make, given) for half, rows in halves for name, make, given in rows]


def _named(name: str, **variant: Any) -> tuple[Any, ...]:
    """A problem of the library under a name that shows its variant."""
    shown = "-".join(str(value) for value in variant.values())
    return (f"{name}-{shown}" if shown else name), _library, {"name": name, **variant}


def _truss(seed: int, *shape: int, loads: float = 0.5) -> tuple[Any, ...]:
    name = f"truss-{'x'.join(map(str, shape))}-s{seed}"
    return name, DrawnTruss, {"shape": shape, "seed": seed, "loads": loads}


def _beam(segments: int, load: float, each: bool) -> tuple[Any, ...]:
    name = f"beam-{segments}{'-each' if each else ''}"
    return name, SteppedBeam, {"segments": segments, "load": load, "each": each}


def _gp(d: int, seed: int, **variant: Any) -> tuple[Any, ...]:
    name = f"gp-{'eq-' if variant else ''}d{d}-s{seed}"
    return name, _library, {"name": "gp_sample", "d": d, "seed": seed, **variant}


def _coco(function: int, d: int, instance: int) -> tuple[Any, ...]:
    name = f"coco-f{function}-d{d}-i{instance}"
    return name, Coco, {"function": function, "d": d, "instance": instance}


def _program(d: int, inequalities: int, active: int, equalities: int, seed: int) -> tuple[Any, ...]:
    name = f"program-d{d}-g{inequalities}-a{active}-h{equalities}-s{seed}"
    sizes = {"d": d, "inequalities": inequalities, "active": active, "equalities": equalities}
    return name, ConvexProgram, {**sizes, "seed": seed}


ENTRIES = [
    *_both(
        "structures",
        [
            _named("truss25", load="case1", aggregate="lse"),
            _named("truss25", load="case1", aggregate="none"),
            _beam(5, 500.0, True),
            ("beam-25", _library, {"name": "beam50"}),
            _beam(50, 700.0, False),
            _truss(1, 4, 2),
            _truss(2, 2, 2, 3),
            _named("speed_reducer"),
            _named("welded_beam"),
        ],
        [
            _named("truss25", load="node1", aggregate="lse"),
            _named("truss25", load="node1", aggregate="none"),
            _beam(8, 400.0, True),
            _beam(16, 600.0, False),
            _beam(40, 500.0, False),
            _truss(3, 5, 2),
            _truss(4, 2, 2, 3),
            _named("pressure_vessel"),
            _named("tension_spring"),
        ],
    ),
    *_both(
        "formulas",
        [
            *map(_named, ("g01", "g10", "g13", "hs6", "hs40", "hs48", "hs71")),
            ("keane20", LogKeane, {"d": 20}),
        ],
        [*map(_named, ("g03", "g07", "g14", "g18", "hs7", "hs39", "hs79", "ackley10"))],
    ),
    *_both(
        "gp",
        [_gp(10, 20), _gp(10, 21), _gp(25, 0), _gp(25, 1), _gp(50, 0), _gp(100, 0)],
        [_gp(10, 30), _gp(10, 31), _gp(25, 2), _gp(25, 3), _gp(50, 1), _gp(100, 1)],
    ),
    *_both(
        "coco",
        [
            _coco(2, 20, 1),
            _coco(9, 10, 2),
            _coco(16, 20, 3),
            _coco(19, 40, 1),
            _coco(28, 10, 4),
            _coco(33, 20, 5),
            _coco(38, 40, 2),
            _coco(47, 10, 3),
        ],
        [
            _coco(3, 10, 2),
            _coco(8, 40, 1),
            _coco(15, 20, 4),
            _coco(22, 10, 3),
            _coco(26, 20, 5),
            _coco(31, 40, 3),
            _coco(40, 20, 1),
            _coco(53, 10, 2),
        ],
    ),
    *_both(
        "many",
        [
            _named("eq_sphere", d=30),
            _named("eq_qp", d=30),
            _gp(8, 0, kind="equality"),
            _program(10, 20, 14, 0, 1),
            _program(20, 40, 26, 0, 2),
            _program(30, 60, 36, 0, 3),
            _program(15, 12, 6, 4, 4),
            _truss(5, 6, 3, loads=1.0),
        ],
        [
            _gp(8, 5, kind="equality"),
            _program(12, 24, 12, 0, 11),
            _program(25, 50, 30, 0, 12),
            _program(40, 60, 24, 0, 13),
            _program(20, 15, 8, 5, 14),
            _program(10, 0, 0, 4, 15),
            _truss(6, 6, 3, loads=1.0),
            _coco(12, 10, 5),
        ],
    ),
]
BY_NAME = {entry.name: entry for entry in ENTRIES}


class Posed:
    """A problem as the suite poses it: the spread of its outcomes, its tolerances, its reference value.

    Attributes:
        truth: the problem without noise; its equalities accept 1e-3 of their outcome's spread.
        scale: by outcome, interquartile range over 1.35 of 1000 uniform points: the unit of noise, of
            tolerances and of violations.
    """

    def __init__(self, truth: Benchmark) -> None:
        points = np.random.default_rng(1).uniform(truth.lb, truth.ub, (SCALE_POINTS, len(truth.lb)))
        sample = truth.outcomes_at(points)
        self._uniform = sample[truth.objective.name]
        self.scale = {name: _spread(sample[name]) for name in truth.outcomes}
        truth.constraints = tuple(
            c if c.eq is None else replace(c, tol=EQUALITY_TOL * self.scale[c.name])
            for c in truth.constraints
        )
        self.truth = truth

    @property
    def dim(self) -> int:
        """Number of variables."""
        return len(self.truth.lb)

    @cached_property
    def f0(self) -> float:
        """COCO: the value of its start; else the median objective of the uniform points."""
        start = getattr(self.truth, "start", None)
        return float(np.median(self._uniform)) if start is None else self.truth.evaluate(start)["f"]

    def budget(self, multiple: int) -> int:
        """Evaluations of a run of ``multiple`` times d, at most 2000."""
        return min(multiple * self.dim, LARGEST_BUDGET)

    def noisy(self, noise: float, seed: int) -> lcbo.Problem:
        """What the methods see: the used outcomes alone, with noise in units of their spread."""
        truth = self.truth
        if noise > 0.0:
            return truth.noisy(seed, {name: noise * size for name, size in self.scale.items()})

        def exact(x: npt.NDArray[np.float64]) -> dict[str, float]:
            outcomes = truth.evaluate(x)
            return {name: outcomes[name] for name in truth.outcomes}

        return lcbo.Problem(truth.bounds, truth.constraints, truth.objective, fun=exact, deterministic=True)

    def judge(self, X: Array) -> tuple[Array, Array]:
        """Return objective and largest violation, in spreads of the outcome, of ``n x d`` points.

        Both are without noise. A violation within the tolerances is 0.
        """
        outcomes = self.truth.evaluate_batch(X)
        worst = np.zeros(len(X))
        for c in self.truth.constraints:
            beyond = -c.slack(outcomes[c.name]) / self.scale[c.name]
            worst = np.maximum(worst, np.where(beyond <= ROUNDING_TOL, 0.0, beyond))
        return outcomes[self.truth.objective.name], worst


def _spread(values: Array) -> float:
    low, high = np.quantile(values, (0.25, 0.75))
    return float((high - low) / SPREAD_PER_SD) or float(values.std()) or 1.0


@cache
def posed(name: str) -> Posed:
    """Return a problem of the suite by name; made once in a process."""
    return Posed(BY_NAME[name].make())
