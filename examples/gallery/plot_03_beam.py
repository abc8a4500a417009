"""
A stepped beam
==============

A cantilever of five segments: the least volume with the stress in every segment and the deflection of the tip
within limits. Ten variables, six limits; one "simulation" returns everything by name, in natural units.
"""

import matplotlib.pyplot as plt
import numpy as np

import lcbo

LOAD, LENGTH, MODULUS = 50_000.0, 5.0, 2.0e11  # N, m, Pa
EDGES = np.linspace(0.0, LENGTH, 6)  # segment borders, clamp at 0


def simulate(x):
    """Volume [m^3], tip deflection [mm] and bending stresses [MPa] of widths and heights."""
    width, height = x[:5], x[5:]
    inertia = width * height**3 / 12
    moment = LOAD * (LENGTH - EDGES[:-1])
    arm = (LENGTH - EDGES) ** 3
    return {
        "volume": float(np.sum(width * height) * LENGTH / 5),
        "deflection": float(np.sum(LOAD * (arm[:-1] - arm[1:]) / (3 * MODULUS * inertia)) * 1e3),
    } | {f"stress{i}": value for i, value in enumerate(moment * height / (2e6 * inertia), start=1)}


start = np.array([0.04] * 5 + [0.6] * 5)
result = lcbo.minimize(
    simulate,
    bounds={f"w{i}": (0.01, 0.05) for i in range(1, 6)} | {f"h{i}": (0.3, 0.65) for i in range(1, 6)},
    constraints=["deflection <= 27"] + [f"stress{i} <= 140" for i in range(1, 6)],
    objective="volume",
    budget=150,
    x0=start,
    deterministic=True,
    progress=False,
)
print(result.message)
print(f"volume {simulate(start)['volume']:.4f} m^3 at the start, {result.fun:.4f} m^3 at the answer")

# %%
# The beam before and after, seen from the side and from above.

fig, axes = plt.subplots(2, 2, figsize=(9, 4), layout="constrained", sharex=True, sharey="row")
for column, (title, x) in zip(axes.T, {"start": start, "answer": result.x}.items(), strict=True):
    for ax, sizes, name in zip(column, (x[5:], x[:5]), ("height [m]", "width [m]"), strict=True):
        ax.bar(EDGES[:-1], sizes, 1.0, bottom=-sizes / 2, align="edge", color="#9db8d2", edgecolor="#2c3e50")
        ax.set_ylabel(name)
        ax.axvline(0.0, color="black", lw=4)
    column[0].set_title(title)
    column[1].set_xlabel("distance from the clamp [m]")

# %%
# How much of every limit is used: the answer uses all of the stress that is allowed, in every segment, and
# the deflection leaves room.

limits = {"deflection": 27.0} | {f"stress{i}": 140.0 for i in range(1, 6)}
fig, ax = plt.subplots(figsize=(8, 3), layout="constrained")
for shift, x, color, label in ((-0.2, start, "0.7", "start"), (0.2, result.x, "#1f6fb4", "answer")):
    used = [100 * simulate(x)[name] / limit for name, limit in limits.items()]
    ax.bar(np.arange(6) + shift, used, 0.4, color=color, label=label)
ax.axhline(100, color="#c0392b", lw=1.5)
ax.set_xticks(range(6), limits)
ax.set(ylabel="used [%]", title="how much of every limit is used")
ax.legend(frameon=False, loc="lower right")
plt.show()
