"""
Methods side by side
====================

Is ``lcbo`` the right tool for *your* problem? Run several methods on it from several seeds and look. All
share the initial design of a seed, the budget and the way they are scored. ``lcbo compare`` does the same
from the command line, with a process and a durable file per run (:doc:`/howto/comparing`).
"""

import matplotlib.pyplot as plt
import numpy as np

import lcbo

REACH = np.linspace(5.0, 0.0, 6)


def simulate(x):
    """A cantilever of five segments, as in "Five minutes"."""
    width, height = x[:5], x[5:]
    inertia = width * height**3 / 12
    return {
        "volume": np.sum(width * height),
        "stress": np.max(50e3 * REACH[:-1] * height / (2e6 * inertia)),
        "deflection": np.sum(50e3 * (REACH[:-1] ** 3 - REACH[1:] ** 3) / (6e8 * inertia)),
    }


problem = lcbo.Problem(
    [(0.01, 0.05)] * 5 + [(0.3, 0.65)] * 5,
    ["stress <= 140", "deflection <= 27"],
    "volume",
    fun=simulate,
    deterministic=True,
)
methods = {"lcbo": "#1f6fb4", "scbo": "#e0a030", "cobyqa": "#2e8b57", "sobol": "0.5"}
runs = {
    name: [lcbo.minimize(problem, budget=80, method=name, rng=seed, progress=False) for seed in range(3)]
    for name in methods
}

# %%
# A thin line is a run, a thick one the median. Three seeds are few: a difference that is small beside the
# scatter is none.

fig, ax = plt.subplots(figsize=(8.5, 4.3), layout="constrained")
for name, color in methods.items():
    best = np.array([run.history.best_feasible[:80] for run in runs[name] if len(run.history) >= 80])
    best = np.where(np.isnan(best), np.inf, best)
    ax.plot(range(1, 81), best.T, color=color, lw=0.8, alpha=0.6)
    ax.plot(range(1, 81), np.median(best, axis=0), color=color, lw=2.5, label=name)
    print(f"{name:8} median volume {np.median(best[:, -1]):.4f}")
ax.set(
    xlabel="evaluations",
    ylabel="best feasible volume",
    ylim=(0.06, 0.1),
    title="four methods on the cantilever, three seeds each",
)
ax.legend(frameon=False)
plt.show()
