"""
A walk in two dimensions
========================

What one iteration of ``lcbo`` does can be seen where there are two variables: it *stands* at a point,
evaluates a few *probes* around it that teach the slopes, moves the limits inward by a *margin*, and takes
the best *step* that a circle and the limits leave. (It is made for many more variables; there a picture
shows little.)
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter

import lcbo
from lcbo.methods.lcbo.method import Lcbo
from lcbo.methods.lcbo.options import LcboOptions
from lcbo.steps.landing import Landing

# %%
# The problem: walk down to the right, with a curved wall above and another one below.


def simulate(x):
    """Cost, and the height above a floor and below a ceiling."""
    a, b = x
    return {
        "cost": (a - 1.05) ** 2 + 0.6 * (b - 0.25) ** 2,
        "floor": 0.18 + 0.5 * (a - 0.35) ** 2 - b,
        "ceiling": b - 0.92 + 0.45 * a**2,
    }


problem = lcbo.Problem({"a": (0.0, 1.0), "b": (0.0, 1.0)}, ["floor <= 0", "ceiling <= 0"], "cost", noise=0.01)

# %%
# To look over its shoulder, margins that take notes: where the run stands, what the model says there, and how
# long a step may be. There are four probes before a step, as the default has in many variables; in two it
# takes one. Everything else is the default method.


class Noted(Landing):
    """The default's margins, with a list of what they were asked."""

    def margin(self, local, length):
        """Return the margins, and take a note."""
        margin = super().margin(local, length)
        notes.append({"local": local, "radius": length, "margin": margin})
        return margin


def build(setup, options):
    """Return the default method with margins that take notes."""
    method = Lcbo(setup, LcboOptions(adapt_frame=False, explore=4, **options))
    method.step.landing = Noted(method.options.landing)
    methods.append(method)
    return method


notes, methods = [], []
spec = lcbo.MethodSpec("noted", "lcbo, looked at", build)
optimizer = lcbo.Optimizer(problem, spec, x0=[0.08, 0.75], n_init=1, budget=60)
noise = np.random.default_rng(0)
grid = np.stack(np.meshgrid(np.linspace(0, 1, 61), np.linspace(0, 1, 61)), axis=-1)
pictures = []  # per iteration: the note, the probes, what the model believed of the limits, and the step
while len(pictures) < 10:
    batch = optimizer.ask()
    if len(notes) > len(pictures):
        belief = methods[-1].forecast(grid.reshape(-1, 2))
        mean = belief.scaling.undo(belief.mean)[:, 1:].reshape(61, 61, 2)
        unsure = (belief.scaling.std * np.sqrt(belief.var))[:, 1:].reshape(61, 61, 2)
        seen = optimizer.log.history()
        probes = seen.X[(seen.iteration == seen.iteration[-1]) & (seen.role == "explore")]
        pictures.append(
            notes[-1] | {"model": mean, "unsure": unsure, "probes": probes, "to": methods[-1].iterate.u}
        )
    for candidate in batch:
        outcomes = simulate(candidate.x).items()
        optimizer.tell(
            candidate.id, {name: value + 0.01 * noise.standard_normal() for name, value in outcomes}
        )
print(optimizer.result().message)

# %%
# One picture of one iteration. Gray lines are the cost and red areas are forbidden, which the method cannot
# see. Dashed is where the model believes the limits to be, shaded how sure it is of that (two standard
# deviations), blue what the step is made of.

truth = [simulate(x) for x in grid.reshape(-1, 2)]
cost, floor, ceiling = (
    np.reshape([t[name] for t in truth], (61, 61)) for name in ("cost", "floor", "ceiling")
)
axis = np.linspace(0, 1, 61)


def draw(ax, k, part=3):
    """Draw iteration k: the probes (part 1), the model (2), margin and step (3)."""
    note = pictures[k]
    local, here, to = note["local"], note["local"].u, note["to"]
    ax.clear()
    ax.contour(axis, axis, cost, 12, colors="0.8", linewidths=0.8)
    ax.contourf(axis, axis, np.maximum(floor, ceiling), [0, 9], colors=["#f3b8ae"])
    path = np.array([p["local"].u for p in pictures[: k + 1]])
    ax.plot(*path.T, color="0.4", lw=1.2, marker="o", ms=3)
    ax.plot(*note["probes"].T, "o", mfc="white", mec="#1f6fb4", ms=6, label="probes")
    ax.plot(*here, "o", color="black", ms=7, label="here")
    if part >= 2:
        for i in range(2):
            mean, unsure = note["model"][..., i], note["unsure"][..., i]
            ax.contourf(axis, axis, np.abs(mean) / unsure, [0, 2], colors=["#c0392b"], alpha=0.15)
            ax.contour(axis, axis, mean, [0], colors="#c0392b", linestyles="dashed")
    if part >= 3:
        circle = plt.Circle(here, note["radius"], fill=False, color="#1f6fb4", lw=1)
        ax.add_patch(circle)
        s = grid - here
        for i in range(2):
            moved = local.values[i] + note["margin"][i] + s @ local.slopes[i]
            lines = ax.contour(axis, axis, moved, [0], colors="#1f6fb4", linewidths=1.2)
            lines.set_clip_path(circle)
        ax.annotate("", to, here, arrowprops={"arrowstyle": "-|>", "color": "black", "lw": 1.8})
    words = {1: "probe the slopes", 2: "model the limits", 3: "keep a margin, step"}[part]
    ax.set(
        xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[], title=f"iteration {k + 1}: {words}", aspect="equal"
    )


fig, axes = plt.subplots(2, 3, figsize=(10, 7), layout="constrained")
for ax, k in zip(axes.flat, (0, 1, 3, 5, 7, 9), strict=True):
    draw(ax, k)

# %%
# The circle grows while steps keep their direction. Near the curved limit the blue line stays inside the
# dashed one: past steps landed farther out than the linear model said, and the margin has learned that
# (``steps/landing.py``; :doc:`the formulas </understanding/algorithm>`). With a file name this script writes
# the animation of the front page.

if len(sys.argv) > 1:
    fig, ax = plt.subplots(figsize=(4.6, 4.8), dpi=100, layout="constrained")
    frames = [(k, part) for k in range(len(pictures)) for part in (1, 2, 3, 3)]
    FuncAnimation(fig, lambda i: draw(ax, *frames[i]), len(frames)).save(sys.argv[1], PillowWriter(fps=2))
plt.show()
