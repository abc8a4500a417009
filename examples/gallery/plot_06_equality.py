"""
An equality, and its tolerance
==============================

The cheapest design at a given distance from the middle of the box: the allowed points are a sphere. A
measured value never equals a number exactly, so every equality says how close is close enough, and the
answer makes use of that.
"""

import matplotlib.pyplot as plt
import numpy as np

import lcbo

COST = np.linspace(1.0, 2.0, 10) / np.linalg.norm(np.linspace(1.0, 2.0, 10))


def simulate(x):
    """Cost and squared distance from the middle of the box."""
    return {"cost": float(COST @ x), "distance": float(np.sum((x - 0.5) ** 2))}


result = lcbo.minimize(
    simulate,
    bounds=[(0.0, 1.0)] * 10,
    constraints=[lcbo.Constraint("distance", eq=0.09, tol=1e-3)],  # or "distance == 0.09 +/- 1e-3"
    objective="cost",
    budget=150,
    deterministic=True,
    progress=False,
)
best, distance = COST.sum() / 2 - 0.3, result.constr["distance"]
print(result.message)
print(f"cost {result.fun:.4f} at {distance:.5f}; the optimum at exactly 0.09 is {best:.4f}")
found, error = result.multipliers["distance"], result.multiplier_errors["distance"]
print(f"multiplier {found:.4f} +- {error:.1g}, exactly {0.5 / np.sqrt(distance):.4f} at this distance")

# %%
# The iterates fall onto the sphere within a few steps and then walk along it; the probes around them need not
# be on it. The band is the tolerance.

history = result.history
gap, cost = history.outcomes["distance"] - 0.09, history.outcomes["cost"]
probe = np.isin(history.role, ("explore", "init"))
fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
left.axhspan(1e-6, 1e-3, color="#bfe3c5", lw=0)
left.semilogy(np.flatnonzero(probe), np.abs(gap[probe]) + 1e-6, ".", color="0.7", label="probes")
left.semilogy(
    np.flatnonzero(~probe), np.abs(gap[~probe]) + 1e-6, "o-", color="#1f6fb4", ms=4, label="iterates"
)
left.set(xlabel="evaluations", ylabel="|distance - 0.09|", title="how far from the sphere")
left.legend(frameon=False)
right.plot(gap[probe], cost[probe], ".", color="0.7")
right.plot(gap[~probe], cost[~probe], "o-", color="#1f6fb4", ms=4, lw=0.8)
right.axvline(0.0, color="#2e8b57", lw=1)
right.plot(0.0, best, "*", color="black", ms=14, label="optimum")
right.set(xlabel="distance - 0.09", ylabel="cost", xlim=(-0.05, 0.3), title="cost beside the equality")
right.legend(frameon=False)
plt.show()
