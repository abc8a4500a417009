"""The cheapest point on a sphere: an equality constraint with its tolerance.

A measured value never equals a number exactly, so every equality says how close is close enough.
"""

import numpy as np

import lcbo

COST = np.linspace(1.0, 2.0, 10)
COST /= np.linalg.norm(COST)


def simulate(x):
    """Cost and squared distance from the center."""
    return {"cost": float(COST @ x), "distance": float(np.sum((x - 0.5) ** 2))}


if __name__ == "__main__":
    result = lcbo.minimize(
        simulate,
        bounds=[(0.0, 1.0)] * 10,
        constraints=[lcbo.Constraint("distance", eq=0.09, tol=1e-3)],  # or "distance == 0.09 +/- 1e-3"
        objective="cost",
        budget=200,
        deterministic=True,
    )
    best = COST.sum() / 2 - 0.3
    print(result.message)
    print(f"cost {result.fun:.4f} (optimum {best:.4f}), distance {result.constr['distance']:.5f}")
    error = result.multiplier_errors["distance"]
    print(f"multiplier {result.multipliers['distance']:.3f} +- {error:.1g}; {result.stationarity}")
