"""Picture of a gait: the robot's limbs in its plane of motion, frame by frame."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from lcbo.problems.figures import GHOST, INK
from lcbo.problems.halfcheetah import ACTIONS, OBSERVATIONS, SEEDS, Cheetah, HalfCheetah
from lcbo.types import Array

_FIRST, _FRAMES, _EVERY = 300, 10, 2  # steps of 0.05 s: from t = 15 s, every 0.1 s
_COLUMNS = 5
_BODY, _BACK, _FRONT = "#c98f4b", "#1f5fa8", "#b03a3a"
_COLORS = {"torso": _BODY, "head": _BODY, "b": _BACK, "f": _FRONT}


def draw_gait(problem: HalfCheetah, x: Array) -> Figure:
    """Ten frames of the first episode, a tenth of a second apart, each centered on the torso."""
    robot = problem.cheetah
    figure = Figure(figsize=(11.0, 3.9), layout="constrained")
    panels = figure.subplots(_FRAMES // _COLUMNS, _COLUMNS, sharey=True).ravel()
    steps = robot.steps(x.reshape(ACTIONS, OBSERVATIONS), SEEDS[0])
    wanted = islice(enumerate(steps, start=1), _FIRST - 1, _FIRST + (_FRAMES - 1) * _EVERY, _EVERY)
    for axes, (step, _) in zip(panels, wanted, strict=True):
        _frame(axes, robot, step * robot.seconds_per_step)
    outcomes = problem.evaluate(x)
    figure.suptitle(
        f"mean velocity {outcomes['velocity']:.2f} m/s, energy {outcomes['energy'] / 1500.0:.2f} of limit "
        "(hind leg blue, fore leg red; marks on the ground every meter)",
        fontsize=11,
    )
    return figure


def _frame(axes: Any, robot: Cheetah, time: float) -> None:
    model, data = robot.model, robot.data
    robot.refresh()
    center = float(data.geom("torso").xpos[0])
    for i in range(1, model.ngeom):
        name, (radius, half, _) = model.geom(i).name, model.geom_size[i]
        middle = data.geom_xpos[i]
        axis = data.geom_xmat[i].reshape(3, 3)[:, 2] * half
        ends = np.stack([middle - axis, middle + axis])
        color = _COLORS.get(name) or _COLORS[name[0]]
        axes.plot(ends[:, 0], ends[:, 2], color=color, linewidth=130 * radius, solid_capstyle="round")
    axes.axhline(0.0, color=INK, linewidth=1.0)
    marks = np.arange(np.floor(center - 1.1), center + 1.1)
    axes.plot(marks, np.full(len(marks), -0.06), "|", color=GHOST, markersize=8, markeredgewidth=2)
    axes.set(xlim=(center - 1.1, center + 1.1), ylim=(-0.12, 1.15), xticks=[], yticks=[], aspect="equal")
    axes.set_title(f"t = {time:.2f} s", fontsize=9)
