"""
A warm start from old data
==========================

Yesterday's run is in a file; today a limit is tighter. The new run need not begin from nothing: ``data=``
takes a result, a run file, a table or a CSV file, costs no budget, and the run starts from the best of it.
"""

import matplotlib.pyplot as plt
import numpy as np

import lcbo

SPAN = np.linspace(1.0, 2.0, 8)


def simulate(x):
    """Weight and sag of eight plates; thin ones sag as the cube of their thickness."""
    return {"weight": float(SPAN @ x), "sag": float(np.sum(SPAN**3 / x**3) / 100)}


bounds = [(0.3, 3.0)] * 8
settings = {"objective": "weight", "deterministic": True, "progress": False}
yesterday = lcbo.minimize(simulate, bounds, "sag <= 1.0", budget=80, rng=0, **settings)
cold = lcbo.minimize(simulate, bounds, "sag <= 0.8", budget=60, rng=1, **settings)
warm = lcbo.minimize(simulate, bounds, "sag <= 0.8", budget=60, rng=1, data=yesterday, **settings)
print(f"from nothing {cold.fun:.4f}, from yesterday's data {warm.fun:.4f}")

# %%
# Both runs have the same budget. The warm one begins where yesterday's ended and is ahead from its first
# evaluations on. With budget enough a run from nothing catches up: data save evaluations.

fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
for result, name, color in ((cold, "from nothing", "0.5"), (warm, "with yesterday's data", "#1f6fb4")):
    history = result.history
    new = history.role != "data"
    weight, feasible = history.outcomes["weight"][new], history.feasible[new]
    best = np.minimum.accumulate(np.where(feasible, weight, np.inf))
    ax.plot(np.arange(1, new.sum() + 1), weight, ".", color=color, alpha=0.35)
    ax.step(np.arange(1, new.sum() + 1), best, color=color, lw=2, where="post", label=name)
ax.set(xlabel="evaluations of today", ylabel="best feasible weight", ylim=(0.97 * warm.fun, 1.6 * warm.fun))
ax.set_title("a tighter limit: with and without old data")
ax.legend(frameon=False)
plt.show()
