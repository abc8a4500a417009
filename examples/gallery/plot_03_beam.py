"""
A stepped beam, and what its limits cost
========================================

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
# What every limit costs: by how much the volume would fall if the limit were wider by one per cent, with its
# standard error. The limits without a bar leave room.

names = list(result.multipliers)
wider = {name: 0.01 * (27 if name == "deflection" else 140) for name in names}
gain = [1e3 * result.multipliers[name] * wider[name] for name in names]
error = [1e3 * result.multiplier_errors[name] * wider[name] for name in names]
fig, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
ax.barh(names, gain, xerr=error, color="#1f6fb4", ecolor="0.4")
ax.invert_yaxis()
ax.set_xlabel("volume saved by one per cent more [litres]")
plt.show()
